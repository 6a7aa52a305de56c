// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace lanner::text {

/// Bytes of the longest tool or parameter name that is taken for one.
inline constexpr std::size_t kMaxName = 256;

/// Bytes that mean nothing between tags of a tool call or around an answer.
inline constexpr std::string_view kBlanks = " \t\r\n";

inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

/// text without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlanks) + 1 - start);
}

}  // namespace lanner::text
