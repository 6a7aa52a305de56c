// SPDX-License-Identifier: MIT
#include "quantize/quant_format.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::quantize {

std::string_view name(QuantMode mode) {
  switch (mode) {
    case QuantMode::kAffine:
      return "affine";
    case QuantMode::kMxfp4:
      return "mxfp4";
    case QuantMode::kMxfp8:
      return "mxfp8";
    case QuantMode::kNvfp4:
      return "nvfp4";
  }
  return "?";
}

QuantMode parse_quant_mode(std::string_view text) {
  for (const QuantMode mode : {QuantMode::kAffine, QuantMode::kMxfp4, QuantMode::kMxfp8, QuantMode::kNvfp4})
    if (text == name(mode)) return mode;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("unknown quantization mode \"{}\", expected affine, mxfp4, mxfp8 or nvfp4", text));
}

QuantFormat default_format(QuantMode mode) {
  switch (mode) {
    case QuantMode::kMxfp4:
      return {mode, 4, 32};
    case QuantMode::kMxfp8:
      return {mode, 8, 32};
    case QuantMode::kNvfp4:
      return {mode, 4, 16};
    default:
      return {mode, 4, 64};
  }
}

bool is_legal(const QuantFormat& format) {
  switch (format.mode) {
    case QuantMode::kAffine:
      return format.bits >= 2 && format.bits <= 8 && format.bits != 7 &&
             (format.group == 32 || format.group == 64 || format.group == 128);
    case QuantMode::kMxfp4:
      return format.bits == 4 && format.group == 32;
    case QuantMode::kMxfp8:
      return format.bits == 8 && format.group == 32;
    case QuantMode::kNvfp4:
      return format.bits == 4 && format.group == 16;
  }
  return false;
}

std::string to_string(const QuantFormat& format) {
  return fmt::format("{} {}-bit group {}", name(format.mode), format.bits, format.group);
}

std::size_t code_bytes(const QuantFormat& format, std::size_t columns) {
  return columns * static_cast<std::size_t>(format.bits) / 8;
}

std::size_t scale_bytes(const QuantFormat& format, std::size_t columns, DType scale_dtype) {
  const std::size_t groups = columns / static_cast<std::size_t>(format.group);
  return format.mode == QuantMode::kAffine ? groups * size_bytes(scale_dtype) : groups;
}

}  // namespace lanner::quantize
