// SPDX-License-Identifier: MIT
#include "kernels/linear/int8_linear.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "core/float_convert.h"
#include "kernels/linear/linear.h"
#include "random.h"

namespace lanner::kernels {
namespace {

using test::random_bytes;
using test::random_normal;

/// A random affine matrix and its packed form.
struct Case {
  std::size_t rows;
  std::size_t columns;
  WeightSpec spec;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<std::uint8_t> biases;
  Buffer packed;

  Case(std::size_t n, std::size_t k, int bits, int group, DType dtype)
      : rows(n),
        columns(k),
        spec{WeightFormat::kAffine, dtype, bits, group},
        codes(random_bytes(n * k * static_cast<std::size_t>(bits) / 8, 1)),
        scales(table(2, 0.05F, 0.01F)),
        biases(table(3, -0.2F, 0.1F)),
        packed(packed_bytes(spec, n, k)) {
    pack_tiles(packed.data(), weight(), 0, view().tiles());
  }

  std::vector<std::uint8_t> table(std::uint64_t seed, float centre, float spread) const {
    const auto values = random_normal(rows * columns / static_cast<std::size_t>(spec.group), seed);
    std::vector<std::uint8_t> bytes(values.size() * size_bytes(spec.dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float value = centre + spread * values[i];
      const std::uint16_t half = spec.dtype == DType::kF16 ? float_to_f16(value) : float_to_bf16(value);
      std::memcpy(bytes.data() + i * size_bytes(spec.dtype),
                  spec.dtype == DType::kF32 ? static_cast<const void*>(&value) : &half,
                  size_bytes(spec.dtype));
    }
    return bytes;
  }

  WeightView weight() const {
    return {.spec = spec,
            .rows = rows,
            .columns = columns,
            .data = codes.data(),
            .scales = scales.data(),
            .biases = biases.data()};
  }
  PackedView view() const { return {.spec = spec, .rows = rows, .columns = columns, .data = packed.data()}; }
};

struct Activations {
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<float> sums;
  std::size_t columns;
  std::size_t groups;

  Activations(QuantizeRowsFn* quantize, std::span<const float> x, std::size_t k, std::size_t group)
      : codes(x.size()), scales(x.size() / group), sums(scales.size()), columns(k), groups(k / group) {
    quantize(codes.data(), scales.data(), sums.data(), x.data(), x.size() / k, k, group);
  }
  QuantizedRows view() const { return {codes.data(), scales.data(), sums.data(), columns, groups}; }
};

std::vector<float> multiply(const Case& weights, const Int8Kernels& kernels, std::span<const float> x) {
  const Activations activations(kernels.quantize_rows, x, weights.columns,
                                static_cast<std::size_t>(weights.spec.group));
  const std::size_t rows = x.size() / weights.columns;
  std::vector<float> out(rows * weights.rows, -1);
  kernels.linear(weights.view(), activations.view(), out.data(), weights.rows, rows, 0,
                 weights.view().tiles());
  return out;
}

/// The versions this machine runs, the reference first.
std::vector<Int8Kernels> versions(const WeightSpec& spec) {
  std::vector<Int8Kernels> all;
  for (Isa isa : supported_isas()) all.push_back(find_int8_kernels(spec, isa));
  return all;
}

template <typename Check>
void for_each_format(Check&& check) {
  for (int bits : {2, 3, 4, 5, 6, 8})
    for (int group : {32, 64, 128})
      for (DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
        CAPTURE(bits);
        CAPTURE(group);
        CAPTURE(name(dtype));
        check(bits, group, dtype);
      }
}

}  // namespace

TEST_CASE("int8 products: every version gives the reference's bits, for any rows, in every format") {
  constexpr std::size_t kColumns = 384;
  constexpr std::size_t kRows = 19;
  const auto x = random_normal(kRows * kColumns, 4);
  for_each_format([&](int bits, int group, DType dtype) {
    const Case weights(45, kColumns, bits, group, dtype);
    const auto all = versions(weights.spec);
    const auto want = multiply(weights, all.front(), x);
    for (const Int8Kernels& version : all) {
      CHECK(multiply(weights, version, x) == want);
      for (std::size_t rows = 1; rows <= 9; ++rows) {
        const auto got = multiply(weights, version, std::span(x).subspan((kRows - rows) * kColumns));
        CHECK(std::equal(got.begin(), got.end(),
                         want.end() - static_cast<std::ptrdiff_t>(rows * weights.rows)));
      }
    }
  });
}

TEST_CASE("int8 products differ from float ones by no more than half a step of each activation") {
  constexpr std::size_t kColumns = 256;
  const auto x = random_normal(3 * kColumns, 5);
  for_each_format([&](int bits, int group, DType dtype) {
    const Case weights(33, kColumns, bits, group, dtype);
    const auto got = multiply(weights, versions(weights.spec).back(), x);
    const auto exact = find_linear_kernels(weights.spec, Isa::kReference);
    REQUIRE(exact.has_value());
    std::vector<float> row(kColumns);
    const auto group_columns = static_cast<std::size_t>(group);
    for (std::size_t n = 0; n < weights.rows; ++n) {
      exact->dequantize_row(row.data(), weights.weight(), n);
      for (std::size_t r = 0; r < 3; ++r) {
        double want = 0;
        double bound = 0;
        for (std::size_t k = 0; k < kColumns; ++k) {
          const float* values = x.data() + r * kColumns;
          double largest = 0;
          for (std::size_t i = k / group_columns * group_columns; i < (k / group_columns + 1) * group_columns;
               ++i)
            largest = std::max(largest, std::abs(double(values[i])));
          want += double(values[k]) * double(row[k]);
          // Half a step of rounding, and the float part: a few roundings of each group's sums.
          bound += std::abs(double(row[k])) * largest / 127 * 0.5 + 1e-5 * largest;
        }
        CHECK(std::abs(double(got[r * weights.rows + n]) - want) <= bound);
      }
    }
  });
}

TEST_CASE("extreme codes and activations do not overflow the 16-bit sums") {
  for (int bits : {2, 3, 4, 5, 6, 8})
    for (float sign : {1.0F, -1.0F}) {
      CAPTURE(bits);
      Case weights(16, 128, bits, 128, DType::kF32);
      std::fill(weights.codes.begin(), weights.codes.end(), std::uint8_t{0xff});
      pack_tiles(weights.packed.data(), weights.weight(), 0, 1);
      const std::vector<float> x(128, sign);
      const auto all = versions(weights.spec);
      const auto want = multiply(weights, all.front(), x);
      for (const Int8Kernels& version : all) CHECK(multiply(weights, version, x) == want);
    }
}

TEST_CASE("activations are rounded to the nearest of 255 steps, zeros stay zeros") {
  for (Isa isa : supported_isas()) {
    const Int8Kernels kernels = find_int8_kernels({WeightFormat::kAffine, DType::kBF16, 4, 32}, isa);
    std::vector<float> x(64, 0.0F);
    x[0] = -2.54F;
    x[1] = 1.0F;
    x[2] = 0.01F;
    const Activations got(kernels.quantize_rows, x, 64, 32);
    CHECK(got.codes[0] == -127);
    CHECK(got.codes[1] == 50);
    CHECK(got.codes[2] == 0);
    CHECK(got.scales[0] == doctest::Approx(0.02));
    CHECK(got.sums[0] == got.scales[0] * -77);
    CHECK(got.scales[1] == 0);
    CHECK(got.sums[1] == 0);
  }
}

}  // namespace lanner::kernels
