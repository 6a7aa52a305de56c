// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace lanner::io {

/// Largest header the format allows (safetensors 0.4, MAX_HEADER_SIZE).
inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

/// One tensor as a safetensors header describes it. Its bytes are [begin, end) of the data section; the
/// header parser has checked that they lie in the file and that end - begin = dtype x shape.
struct TensorRecord {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::uint64_t data_begin = 0;  ///< Offset of the data section in the file.
  std::vector<TensorRecord>
      tensors;  ///< In order of `begin`; none overlap. Gaps and trailing bytes are allowed.
  std::map<std::string, std::string> metadata;
};

/// Checks and reads the header of a whole safetensors file: 8 bytes of little-endian length N, N bytes of
/// JSON
/// {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {...}}, then the data section.
/// `source` names the file in errors, which are kCorrupt, or kUnsupported for an unknown dtype or rank > 8.
/// Memory used is in proportion to the header, whatever numbers it holds; nothing recurses.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view source);

}  // namespace lanner::io
