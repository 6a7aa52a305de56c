// SPDX-License-Identifier: MIT
#include "text/jinja/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/jinja/fault.h"
#include "text/jinja/unicode.h"

namespace lanner::text::jinja {
namespace {

[[noreturn]] void throw_too_large() { throw Fault(FaultKind::kValue, "integer is too large"); }

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Underscores may only stand between digits.
bool has_misplaced_underscore(std::string_view digits) {
  for (size_t i = 0; i < digits.size(); ++i)
    if (digits[i] == '_' && (i == 0 || i + 1 == digits.size() || digits[i - 1] == '_')) return true;
  return false;
}

std::string special_float(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

}  // namespace

std::string int_text(Int value) { return int_text(value, 10); }

std::string int_text(Int value, int base) {
  unsigned __int128 rest =
      value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string out;
  do {
    out += "0123456789abcdef"[static_cast<int>(rest % static_cast<unsigned>(base))];
    rest /= static_cast<unsigned>(base);
  } while (rest != 0);
  if (value < 0) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

std::string float_text(double value) {
  if (!std::isfinite(value)) return special_float(value);
  char buffer[32];
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific);
  const std::string_view scientific(buffer, static_cast<size_t>(result.ptr - buffer));
  const size_t mark = scientific.find('e');
  std::string digits(1, scientific[0]);
  if (mark > 2) digits += scientific.substr(2, mark - 2);
  const int exponent = std::atoi(std::string(scientific.substr(mark + 1)).c_str());
  std::string out = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02d}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (whole >= digits.size()) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string float_text(double value, char conversion, int precision) {
  switch (conversion) {
    case 'e':
      return fmt::format("{:.{}e}", value, precision);
    case 'E':
      return fmt::format("{:.{}E}", value, precision);
    case 'g':
      return fmt::format("{:.{}g}", value, precision);
    case 'G':
      return fmt::format("{:.{}G}", value, precision);
    case 'F':
      return fmt::format("{:.{}F}", value, precision);
    default:
      return fmt::format("{:.{}f}", value, precision);
  }
}

std::optional<Int> parse_int(std::string_view text, int base) {
  text = strip(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int prefix_base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (prefix_base != 0 && (base == 0 || base == prefix_base)) {
      base = prefix_base;
      text.remove_prefix(2);
      if (!text.empty() && text[0] == '_') text.remove_prefix(1);
    } else if (base == 0 && text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  if (base == 0) base = 10;
  if (text.empty() || has_misplaced_underscore(text)) return std::nullopt;
  Int value = 0;
  for (char c : text) {
    if (c == '_') continue;
    const int digit = digit_value(c);
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, Int{base}, &value) || __builtin_add_overflow(value, Int{digit}, &value))
      throw_too_large();
  }
  return negative ? -value : value;
}

std::optional<double> parse_float(std::string_view text) {
  text = strip(text);
  if (text.empty() || has_misplaced_underscore(text)) return std::nullopt;
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  const size_t sign = plain[0] == '-' || plain[0] == '+' ? 1 : 0;
  const std::string magnitude = to_lower(plain.substr(sign));
  const double scale = plain[0] == '-' ? -1 : 1;
  if (magnitude == "inf" || magnitude == "infinity") return scale * HUGE_VAL;
  if (magnitude == "nan") return std::nan("");
  if (magnitude.empty() || magnitude.find_first_not_of("0123456789.e+-") != std::string::npos)
    return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), value);
  if (result.ptr != magnitude.data() + magnitude.size()) return std::nullopt;
  // from_chars leaves the value alone when it is out of range; strtod gives 0 or infinity as Python does.
  if (result.ec == std::errc::result_out_of_range)
    value = std::strtod(magnitude.c_str(), nullptr);
  else if (result.ec != std::errc())
    return std::nullopt;
  return scale * value;
}

std::optional<Int> int_from_double(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (std::fabs(value) >= 0x1p126) throw_too_large();
  return static_cast<Int>(value);
}

double round_half_even(double value, int digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
  // Rounded as a decimal string; a tie is exact only when every dropped digit of the integer says so.
  const double scale = std::pow(10.0, -digits);
  return std::nearbyint(value / scale) * scale;
}

}  // namespace lanner::text::jinja
