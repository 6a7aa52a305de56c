// SPDX-License-Identifier: MIT
#include "text/jinja/string_literal.h"

#include <fmt/format.h>

#include <cstdint>

#include "text/jinja/unicode.h"

namespace lanner::text::jinja {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads exactly `count` hex digits.
bool read_hex(std::string_view body, size_t& at, int count, char32_t& code_point) {
  code_point = 0;
  for (int i = 0; i < count; ++i, ++at) {
    const int digit = at < body.size() ? hex_digit(body[at]) : -1;
    if (digit < 0) return false;
    code_point = code_point * 16 + static_cast<char32_t>(digit);
  }
  return true;
}

char simple_escape(char c) {
  switch (c) {
    case '\\':
      return '\\';
    case '\'':
      return '\'';
    case '"':
      return '"';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return 0;
  }
}

// Python rewrites the literal's other characters to escapes first, so a backslash before one of them protects
// it.
std::string protected_spelling(char32_t c) {
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

const char* decode_escape(std::string_view body, size_t& at, std::string& out) {
  const char c = body[at];
  if (const char simple = simple_escape(c)) {
    out += simple;
    ++at;
    return nullptr;
  }
  if (c == '\n') {
    ++at;
    return nullptr;
  }
  if (c >= '0' && c <= '7') {
    char32_t code_point = 0;
    for (int i = 0; i < 3 && at < body.size() && body[at] >= '0' && body[at] <= '7'; ++i, ++at)
      code_point = code_point * 8 + static_cast<char32_t>(body[at] - '0');
    append_utf8(out, code_point);
    return nullptr;
  }
  if (c == 'x' || c == 'u' || c == 'U') {
    char32_t code_point = 0;
    ++at;
    if (!read_hex(body, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, code_point))
      return c == 'x'   ? "truncated \\xXX escape"
             : c == 'u' ? "truncated \\uXXXX escape"
                        : "truncated \\UXXXXXXXX escape";
    if (code_point > 0x10FFFF) return "illegal Unicode character";
    append_utf8(out, code_point);
    return nullptr;
  }
  if (c == 'N') return "named characters (\\N{...}) are not supported";
  out += '\\';
  if (static_cast<unsigned char>(c) >= 0x80) {
    out.pop_back();
    out += protected_spelling(next_code_point(body, at));
  }
  return nullptr;
}

}  // namespace

const char* decode_string_literal(std::string_view body, std::string& out) {
  for (size_t at = 0; at < body.size();) {
    if (body[at] != '\\') {
      out += body[at++];
      continue;
    }
    if (++at == body.size()) return "\\ at end of string";
    if (const char* problem = decode_escape(body, at, out)) return problem;
  }
  return nullptr;
}

}  // namespace lanner::text::jinja
