// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lanner::io {

/// Bytes of a safetensors file: `length` as the length field, then the header text, then the data.
inline std::string framed(std::uint64_t length, std::string_view header, std::string_view data = {}) {
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>((length >> shift) & 0xFF);
  file += header;
  file += data;
  return file;
}

/// The same with the true length.
inline std::string framed(std::string_view header, std::string_view data = {}) {
  return framed(header.size(), header, data);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace lanner::io
