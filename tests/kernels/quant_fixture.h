// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/float_convert.h"
#include "io/safetensors_file.h"
#include "kernels/linear/weight_view.h"

namespace lanner::test {

/// Elements of a float tensor.
inline std::vector<float> floats_of(const io::TensorEntry& entry) {
  std::vector<float> values(static_cast<std::size_t>(entry.shape.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (entry.dtype == DType::kF32) {
      std::memcpy(&values[i], entry.bytes.data() + 4 * i, 4);
    } else {
      std::uint16_t half = 0;
      std::memcpy(&half, entry.bytes.data() + 2 * i, 2);
      values[i] = entry.dtype == DType::kF16 ? f16_to_float(half) : bf16_to_float(half);
    }
  }
  return values;
}

/// A file of tests/golden/quant; keeps aligned copies of the tensors it hands out.
class QuantFixture {
 public:
  explicit QuantFixture(const std::string& file)
      : file_(std::string(LANNER_GOLDEN_DIR) + "/quant/" + file + ".safetensors") {}

  const io::TensorEntry* find(const std::string& name) const { return file_.find(name); }
  const io::TensorEntry& tensor(const std::string& name) const { return file_.require(name); }
  std::vector<float> floats(const std::string& name) const { return floats_of(tensor(name)); }
  const void* memory(const std::string& name) {
    const auto [place, added] = held_.try_emplace(name);
    if (added) place->second = io::load_tensor(tensor(name));
    return place->second.tensor.data;
  }
  /// Matrix PREFIX.weight (and .scales, .biases); stacks are joined along the rows.
  kernels::WeightView view(const std::string& prefix, kernels::WeightFormat format, int bits, int group) {
    const io::TensorEntry& scales = tensor(prefix + ".scales");
    const bool affine = format == kernels::WeightFormat::kAffine;
    const auto columns = static_cast<std::size_t>(scales.shape.back() * group);
    return {.spec = {format, scales.dtype, bits, group},
            .rows = static_cast<std::size_t>(scales.shape.element_count() * group) / columns,
            .columns = columns,
            .data = memory(prefix + ".weight"),
            .scales = memory(prefix + ".scales"),
            .biases = affine ? memory(prefix + ".biases") : nullptr};
  }

 private:
  io::SafetensorsFile file_;
  std::map<std::string, io::HeldTensor> held_;
};

/// One quantization of the fixtures' matrix `w`.
struct QuantMode {
  std::string prefix;
  kernels::WeightFormat format;
  int bits;
  int group;
};

inline std::vector<QuantMode> affine_modes() {
  std::vector<QuantMode> modes;
  for (const int bits : {2, 3, 4, 5, 6, 8})
    for (const int group : {32, 64, 128})
      modes.push_back({"affine_b" + std::to_string(bits) + "_g" + std::to_string(group),
                       kernels::WeightFormat::kAffine, bits, group});
  return modes;
}

inline std::vector<QuantMode> fp_modes() {
  return {{"mxfp4", kernels::WeightFormat::kMxfp4, 4, 32},
          {"mxfp8", kernels::WeightFormat::kMxfp8, 8, 32},
          {"nvfp4", kernels::WeightFormat::kNvfp4, 4, 16}};
}

inline std::vector<QuantMode> all_modes() {
  std::vector<QuantMode> modes = affine_modes();
  for (QuantMode& mode : fp_modes()) modes.push_back(mode);
  return modes;
}

}  // namespace lanner::test
