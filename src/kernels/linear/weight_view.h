// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace lanner::kernels {

/// How the elements of a matrix are stored. See docs/formats.md and MLX's affine and fp quantization modes.
enum class WeightFormat : std::uint8_t {
  kDense,   ///< F32, F16 or BF16 elements
  kAffine,  ///< w = scale * q + bias per group; 2, 3, 4, 5, 6 or 8 bits, group 32, 64 or 128
  kMxfp4,   ///< E2M1 elements, E8M0 scale per 32
  kMxfp8,   ///< E4M3 elements, E8M0 scale per 32
  kNvfp4,   ///< E2M1 elements, E4M3 scale per 16
};

/// Everything but the memory: what a kernel is chosen by.
struct WeightSpec {
  WeightFormat format = WeightFormat::kDense;
  DType dtype = DType::kBF16;  ///< element type when dense; type of scales and biases when affine
  int bits = 16;
  int group = 0;  ///< columns that share a scale; 0 when dense

  friend bool operator==(const WeightSpec&, const WeightSpec&) = default;
};

/// A matrix [rows, columns] = [out, in] in one of the formats; points into mapped checkpoint memory.
/// Quantized rows are little-endian bit strings in 32-bit words: code i of a row at bits [i*bits,
/// (i+1)*bits).
struct WeightView {
  WeightSpec spec;
  std::size_t rows = 0;
  std::size_t columns = 0;
  const void* data = nullptr;
  const void* scales = nullptr;  ///< [rows, columns/group]; spec.dtype when affine, uint8 in the fp formats
  const void* biases = nullptr;  ///< [rows, columns/group], affine only
};

}  // namespace lanner::kernels
