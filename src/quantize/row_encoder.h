// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "quantize/quant_format.h"

namespace lanner::quantize {

/// Where the parts of one encoded row go. Sizes: code_bytes(), scale_bytes(), scale_bytes() (affine) or 0.
struct EncodedRow {
  std::span<std::uint8_t> codes;
  std::span<std::uint8_t> scales;
  std::span<std::uint8_t> biases;
};

/// Encodes rows of a matrix in one format. Not shared between threads.
class RowEncoder {
 public:
  /// scale_dtype: F32, F16 or BF16, the type of affine scales and biases.
  RowEncoder(const QuantFormat& format, DType scale_dtype) : format_(format), scale_dtype_(scale_dtype) {}

  /// row: finite weights, a multiple of the group.
  void encode(const EncodedRow& out, std::span<const float> row);

 private:
  QuantFormat format_;
  DType scale_dtype_;
  std::vector<std::uint8_t> codes_;
};

}  // namespace lanner::quantize
