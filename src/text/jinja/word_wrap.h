// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanner::text::jinja {

enum class LongWords { kBreak, kKeep };
enum class Hyphens { kBreakAfter, kKeep };

struct WrapOptions {
  long long width = 79;  ///< In characters, > 0.
  LongWords long_words = LongWords::kBreak;
  Hyphens hyphens = Hyphens::kBreakAfter;
};

/// Python's textwrap.wrap without tab expansion and blank replacement: lines of at most `width` characters.
std::vector<std::string> wrap_line(std::string_view text, const WrapOptions& options);

}  // namespace lanner::text::jinja
