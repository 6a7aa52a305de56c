// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lanner {

/// Element types of checkpoint tensors, caches and activations.
enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kI64,
  kU64,
  kI32,
  kU32,
  kI16,
  kU16,
  kI8,
  kU8,
  kBool,
};

/// Bytes of one element.
std::size_t size_bytes(DType dtype);

/// The safetensors spelling: "BF16", "F32", "U8", ...
std::string_view name(DType dtype);

/// Inverse of name(); std::nullopt for anything else.
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace lanner
