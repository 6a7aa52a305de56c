// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/float_convert.h"
#include "kernels/linear/linear.h"
#include "random.h"

namespace lanner::test {

/// Bytes that end right before an unreadable page: a read past the end stops the test program.
class FencedBytes {
 public:
  explicit FencedBytes(std::span<const std::uint8_t> bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_bytes_ = (bytes.size() + page - 1) / page * page + page;
    base_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    auto* end = static_cast<std::uint8_t*>(base_) + mapped_bytes_ - page;
    mprotect(end, page, PROT_NONE);
    data_ = end - bytes.size();
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~FencedBytes() { munmap(base_, mapped_bytes_); }
  FencedBytes(const FencedBytes&) = delete;
  FencedBytes& operator=(const FencedBytes&) = delete;
  const std::uint8_t* data() const { return data_; }

 private:
  void* base_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::uint8_t* data_ = nullptr;
};

/// Floats in the bytes of a dtype (F32, F16 or BF16).
inline std::vector<std::uint8_t> float_bytes(const std::vector<float>& values, DType dtype) {
  std::vector<std::uint8_t> bytes(values.size() * size_bytes(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF32) {
      std::memcpy(&bytes[i * 4], &values[i], 4);
    } else {
      const std::uint16_t half = dtype == DType::kF16 ? float_to_f16(values[i]) : float_to_bf16(values[i]);
      std::memcpy(&bytes[i * 2], &half, 2);
    }
  }
  return bytes;
}

/// "affine 4 bits group 64 BF16", for messages.
inline std::string to_string(const kernels::WeightSpec& spec) {
  const char* const formats[] = {"dense", "affine", "mxfp4", "mxfp8", "nvfp4"};
  return std::string(formats[static_cast<int>(spec.format)]) + " " + std::to_string(spec.bits) +
         " bits group " + std::to_string(spec.group) + " " + std::string(name(spec.dtype));
}

/// Every kind of matrix that has kernels.
inline std::vector<kernels::WeightSpec> all_weight_specs() {
  using kernels::WeightFormat;
  std::vector<kernels::WeightSpec> specs;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    specs.push_back({WeightFormat::kDense, dtype, 8 * static_cast<int>(size_bytes(dtype)), 0});
    for (const int bits : {2, 3, 4, 5, 6, 8})
      for (const int group : {32, 64, 128}) specs.push_back({WeightFormat::kAffine, dtype, bits, group});
  }
  specs.push_back({WeightFormat::kMxfp4, DType::kU8, 4, 32});
  specs.push_back({WeightFormat::kMxfp8, DType::kU8, 8, 32});
  specs.push_back({WeightFormat::kNvfp4, DType::kU8, 4, 16});
  return specs;
}

/// A random matrix of a format with elements of about 0.01 to 1; every stored array ends at a fence.
class RandomWeight {
 public:
  RandomWeight(const kernels::WeightSpec& spec, std::size_t rows, std::size_t columns, std::uint64_t seed)
      : data_(make_data(spec, rows * columns, seed)),
        scales_(make_scales(spec, rows * columns, seed + 1)),
        biases_(make_biases(spec, rows * columns, seed + 2)),
        view_{spec, rows, columns, data_.data(), scales_.data(), biases_.data()} {}

  const kernels::WeightView& view() const { return view_; }

 private:
  using Spec = kernels::WeightSpec;
  using Bytes = std::vector<std::uint8_t>;

  static std::size_t groups(const Spec& spec, std::size_t count) {
    return count / static_cast<std::size_t>(spec.group);
  }
  static Bytes make_data(const Spec& spec, std::size_t count, std::uint64_t seed) {
    if (spec.format == kernels::WeightFormat::kDense)
      return float_bytes(random_normal(count, seed), spec.dtype);
    return random_bytes(count * static_cast<std::size_t>(spec.bits) / 8, seed);
  }
  static Bytes make_scales(const Spec& spec, std::size_t count, std::uint64_t seed) {
    if (spec.format == kernels::WeightFormat::kDense) return {};
    if (spec.format == kernels::WeightFormat::kAffine)
      return float_bytes(random_uniform(groups(spec, count), seed, -0.1F, 0.1F), spec.dtype);
    Bytes codes = random_bytes(groups(spec, count), seed);
    const bool is_e8m0 = spec.format != kernels::WeightFormat::kNvfp4;
    for (std::uint8_t& code : codes)
      code = static_cast<std::uint8_t>(is_e8m0 ? 118 + code % 12 : code & 0x3f);
    return codes;
  }
  static Bytes make_biases(const Spec& spec, std::size_t count, std::uint64_t seed) {
    if (spec.format != kernels::WeightFormat::kAffine) return {};
    return float_bytes(random_uniform(groups(spec, count), seed, -0.5F, 0.5F), spec.dtype);
  }

  FencedBytes data_, scales_, biases_;
  kernels::WeightView view_;
};

}  // namespace lanner::test
