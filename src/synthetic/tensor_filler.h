// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "io/safetensors_writer.h"
#include "quantize/quant_format.h"
#include "synthetic/random_words.h"
#include "synthetic/synthetic_tensor.h"

namespace lanner::synthetic {

/// One tensor with the format it is written in; nullopt: its own dtype.
struct PlannedTensor {
  SyntheticTensor tensor;
  std::optional<quantize::QuantFormat> format;
  std::size_t shard = 0;

  /// weight, scales and, affine, biases; or the tensor alone.
  std::vector<io::TensorDeclaration> declarations() const;
  std::uint64_t size_bytes() const;
};

/// Writes random elements piece by piece. Quantized ones are random codes, so every code is used equally
/// often, with scales that differ from group to group by a quarter.
class TensorFiller {
 public:
  explicit TensorFiller(std::uint64_t seed);
  void fill(const PlannedTensor& planned, io::SafetensorsWriter& writer);

 private:
  void fill_codes(const PlannedTensor& planned, io::SafetensorsWriter& writer, RandomWords& words);
  void fill_scales(const PlannedTensor& planned, io::SafetensorsWriter& writer, RandomWords& words);
  void fill_scale_codes(const PlannedTensor& planned, io::SafetensorsWriter& writer, RandomWords& words);
  void fill_floats(const SyntheticTensor& tensor, io::SafetensorsWriter& writer, RandomWords& words);

  std::uint64_t seed_;
  std::vector<std::uint64_t> piece_;
};

}  // namespace lanner::synthetic
