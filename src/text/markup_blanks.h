// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace lanner::text {

/// Bytes that mean nothing between tags of a tool call or around an answer.
inline constexpr std::string_view kBlanks = " \t\r\n";

inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

}  // namespace lanner::text
