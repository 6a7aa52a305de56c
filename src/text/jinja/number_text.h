// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

/// Python's spelling of numbers, both ways.
namespace lanner::text::jinja {

std::string int_text(Int value);
/// `digits` of `value` in base 2, 8, 10 or 16, no prefix; lower case.
std::string int_text(Int value, int base);
/// repr(float): shortest digits that read back, ".0" for whole numbers, exponent outside [1e-4, 1e16).
std::string float_text(double value);
/// '%.{precision}f', 'e', 'g' of Python's formatting (also 'F', 'E', 'G').
std::string float_text(double value, char conversion, int precision);

/// int(text, base) of Python: blanks, sign, prefix, underscores. nullopt when Python raises ValueError.
/// Faults on overflow.
std::optional<Int> parse_int(std::string_view text, int base);
/// float(text) of Python, including inf and nan.
std::optional<double> parse_float(std::string_view text);
/// int(float); nullopt for inf and nan. Faults on overflow.
std::optional<Int> int_from_double(double value);

/// round(value, digits) of Python on a float: correctly rounded, half to even on the decimal value.
double round_half_even(double value, int digits);

}  // namespace lanner::text::jinja
