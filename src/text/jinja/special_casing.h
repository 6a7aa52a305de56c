// SPDX-License-Identifier: MIT
#pragma once

namespace lanner::text::jinja {

/// A character whose upper or title case is more than one character (Unicode SpecialCasing.txt,
/// unconditional).
struct SpecialCasing {
  char32_t code_point;
  const char32_t* upper;
  const char32_t* title;
};

/// nullptr for characters with one-to-one mappings.
const SpecialCasing* find_special_casing(char32_t code_point);

}  // namespace lanner::text::jinja
