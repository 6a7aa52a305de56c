// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace lanner::quantize {

/// MLX's quantization modes.
enum class QuantMode : std::uint8_t { kAffine, kMxfp4, kMxfp8, kNvfp4 };

/// "affine", "mxfp4", "mxfp8", "nvfp4".
std::string_view name(QuantMode mode);
/// The opposite; throws Error kInvalidArgument for other words.
QuantMode parse_quant_mode(std::string_view text);

/// How the elements of one matrix are stored.
struct QuantFormat {
  QuantMode mode = QuantMode::kAffine;
  int bits = 4;
  int group = 64;  ///< columns that share a scale

  friend bool operator==(const QuantFormat&, const QuantFormat&) = default;
};

/// A mode with MLX's default bits and group: affine 4 and 64, mxfp4 4 and 32, mxfp8 8 and 32, nvfp4 4 and 16.
QuantFormat default_format(QuantMode mode);

/// True for affine 2, 3, 4, 5, 6, 8 bits at group 32, 64, 128 and for the fp modes with their only bits and
/// group.
bool is_legal(const QuantFormat& format);

/// "affine 4-bit group 64".
std::string to_string(const QuantFormat& format);

/// Bytes of one row of `columns` elements; columns is a multiple of the group. scale_dtype matters for
/// affine.
std::size_t code_bytes(const QuantFormat& format, std::size_t columns);
std::size_t scale_bytes(const QuantFormat& format, std::size_t columns, DType scale_dtype);

}  // namespace lanner::quantize
