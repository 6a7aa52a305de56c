// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/runtime.h"

/// Text operations that methods and filters share. Results are charged and checked against the text limit.
namespace lanner::text::jinja {

/// str.replace; count < 0 replaces all.
std::string replace_text(Runtime& runtime, std::string_view text, std::string_view old_part,
                         std::string_view new_part, long long count);

enum class Padding { kBefore, kAfter };
/// str.rjust / str.ljust.
std::string pad_text(Runtime& runtime, std::string_view text, long long width, std::string_view fill,
                     Padding side);
/// str.center, with CPython's choice of the longer side.
std::string center_text(Runtime& runtime, std::string_view text, long long width, std::string_view fill);

bool is_upper_text(std::string_view text);  ///< str.isupper.
bool is_lower_text(std::string_view text);  ///< str.islower.

}  // namespace lanner::text::jinja
