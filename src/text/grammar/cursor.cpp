// SPDX-License-Identifier: MIT
#include "text/grammar/cursor.h"

#include <fmt/format.h>

#include "core/error.h"
#include "io/json_syntax.h"
#include "text/unicode.h"

namespace lanner::text::grammar {

Cursor::Cursor(std::string_view text, std::string_view what) : text_(text), what_(what) {
  if (text.size() > kMaxGrammarBytes)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} bytes, more than the {} allowed", what, text.size(), kMaxGrammarBytes));
  const std::size_t invalid = find_invalid_utf8(text);
  if (invalid != std::string_view::npos) fail_at(invalid, "not UTF-8");
}

bool Cursor::take(std::string_view text) {
  if (!next_is(text)) return false;
  position_ += text.size();
  return true;
}

void Cursor::expect(std::string_view text) {
  if (!take(text)) fail(fmt::format("expected \"{}\"", text));
}

char32_t Cursor::take_character() { return next_code_point(text_, position_); }

char32_t Cursor::take_hex(int digits) {
  const std::size_t begin = position_;
  char32_t value = 0;
  for (int i = 0; i < digits; ++i, ++position_) {
    const char c = peek();
    char32_t digit = 0;
    if (c >= '0' && c <= '9')
      digit = static_cast<char32_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = static_cast<char32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
      digit = static_cast<char32_t>(c - 'A' + 10);
    else
      fail_at(begin, fmt::format("expected {} hexadecimal digits", digits));
    value = value * 16 + digit;
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) fail_at(begin, "not a Unicode character");
  return value;
}

std::uint32_t Cursor::take_number(std::uint32_t max) {
  const std::size_t begin = position_;
  if (!next_is_digit()) fail("expected a number");
  std::uint64_t value = 0;
  for (; next_is_digit(); ++position_) {
    value = value * 10 + static_cast<std::uint64_t>(peek() - '0');
    if (value > max) fail_at(begin, fmt::format("number above {}", max));
  }
  return static_cast<std::uint32_t>(value);
}

void Cursor::fail_at(std::size_t position, std::string_view complaint) const {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: {}: {}", what_, io::text_position(text_, position), complaint));
}

void Cursor::unsupported(std::string_view complaint) const {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: {}: {}", what_, io::text_position(text_, position_), complaint));
}

}  // namespace lanner::text::grammar
