// SPDX-License-Identifier: MIT
#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/jinja/special_casing.h"

namespace lanner::text::jinja {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

char32_t map_simple(utf8proc_int32_t (*mapping)(utf8proc_int32_t), char32_t c) {
  return static_cast<char32_t>(mapping(static_cast<utf8proc_int32_t>(c)));
}

bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || is_titlecase(c); }

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019;
  }
}

// A capital sigma that ends a word becomes the final form; everywhere else the ordinary one.
bool is_final_sigma(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

void append_lower(std::u32string& out, std::u32string_view text, size_t at) {
  const char32_t c = text[at];
  if (c == 0x130) {
    out += U"i\u0307";
  } else if (c == 0x3A3) {
    out += is_final_sigma(text, at) ? U'\u03C2' : U'\u03C3';
  } else {
    out += map_simple(utf8proc_tolower, c);
  }
}

void append_upper(std::u32string& out, char32_t c) {
  if (const SpecialCasing* special = find_special_casing(c)) {
    out += special->upper;
  } else {
    out += map_simple(utf8proc_toupper, c);
  }
}

void append_title(std::u32string& out, char32_t c) {
  if (const SpecialCasing* special = find_special_casing(c)) {
    out += special->title;
  } else {
    out += map_simple(utf8proc_totitle, c);
  }
}

std::string map_ascii(std::string_view text, char first, char last, int shift) {
  std::string out(text);
  for (char& c : out)
    if (c >= first && c <= last) c = static_cast<char>(c + shift);
  return out;
}

bool is_stripped(char32_t c, const std::u32string& set, bool whitespace) {
  return whitespace ? is_space(c) : set.find(c) != std::u32string::npos;
}

size_t previous_start(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && end - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  size_t position = start;
  next_code_point(text, position);
  return position == end ? start : end - 1;
}

std::vector<std::string_view> split_whitespace(std::string_view text, long long limit) {
  std::vector<std::string_view> parts;
  text = strip_left(text);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<long long>(parts.size()) == limit) {
      parts.push_back(text);
      break;
    }
    size_t end = 0;
    for (size_t next = 0; end < text.size(); end = next)
      if (is_space(next_code_point(text, next))) break;
    parts.push_back(text.substr(0, end));
    text = strip_left(text.substr(end));
  }
  return parts;
}

std::vector<std::string_view> split_whitespace_from_right(std::string_view text, long long limit) {
  std::vector<std::string_view> parts;
  text = strip_right(text);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<long long>(parts.size()) == limit) {
      parts.push_back(text);
      break;
    }
    size_t start = text.size();
    while (start > 0) {
      size_t previous = previous_start(text, start), position = previous;
      if (is_space(next_code_point(text, position))) break;
      start = previous;
    }
    parts.push_back(text.substr(start));
    text = strip_right(text.substr(0, start));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

char32_t next_code_point(std::string_view text, size_t& position) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(position);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 1) return static_cast<char32_t>(byte(position++));
  if (length == 0 || lead > 0xF4 || position + length > text.size()) {
    ++position;
    return 0xFFFD;
  }
  char32_t c = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(position + i) & 0xC0) != 0x80) {
      ++position;
      return 0xFFFD;
    }
    c = (c << 6) | (byte(position + i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kSmallest[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
    ++position;
    return 0xFFFD;
  }
  position += length;
  return c;
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t position = 0; position < text.size();) out += next_code_point(text, position);
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t c : text) append_utf8(out, c);
  return out;
}

size_t code_point_count(std::string_view text) {
  if (is_ascii(text)) return text.size();
  size_t count = 0;
  for (size_t position = 0; position < text.size(); ++count) next_code_point(text, position);
  return count;
}

std::string_view code_point_range(std::string_view text, size_t first, size_t last) {
  if (first >= last) return {};
  if (is_ascii(text)) return first >= text.size() ? std::string_view{} : text.substr(first, last - first);
  size_t position = 0, index = 0;
  while (position < text.size() && index < first) next_code_point(text, position), ++index;
  const size_t begin = position;
  while (position < text.size() && index < last) next_code_point(text, position), ++index;
  return text.substr(begin, position - begin);
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_alphabetic(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_decimal(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return is_decimal(c);
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU;
}

bool is_lower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA;
}

bool is_titlecase(char32_t c) { return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_LT; }

bool is_identifier_start(char32_t c) {
  return c == '_' || is_alphabetic(c) || category(c) == UTF8PROC_CATEGORY_NL;
}

bool is_identifier_part(char32_t c) {
  if (is_identifier_start(c) || is_decimal(c)) return true;
  if (c < 0x80) return false;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_PC;
}

std::string to_upper(std::string_view text) {
  if (is_ascii(text)) return map_ascii(text, 'a', 'z', 'A' - 'a');
  std::u32string out;
  for (char32_t c : decode_utf8(text)) append_upper(out, c);
  return encode_utf8(out);
}

std::string to_lower(std::string_view text) {
  if (is_ascii(text)) return map_ascii(text, 'A', 'Z', 'a' - 'A');
  std::u32string out;
  const std::u32string in = decode_utf8(text);
  for (size_t i = 0; i < in.size(); ++i) append_lower(out, in, i);
  return encode_utf8(out);
}

std::string to_title(std::string_view text) {
  std::u32string out;
  const std::u32string in = decode_utf8(text);
  bool inside_word = false;
  for (size_t i = 0; i < in.size(); ++i) {
    inside_word ? append_lower(out, in, i) : append_title(out, in[i]);
    inside_word = is_cased(in[i]);
  }
  return encode_utf8(out);
}

std::string to_capitalized(std::string_view text) {
  std::u32string out;
  const std::u32string in = decode_utf8(text);
  for (size_t i = 0; i < in.size(); ++i) i == 0 ? append_title(out, in[i]) : append_lower(out, in, i);
  return encode_utf8(out);
}

std::string to_swapped_case(std::string_view text) {
  std::u32string out;
  const std::u32string in = decode_utf8(text);
  for (size_t i = 0; i < in.size(); ++i)
    is_upper(in[i]) ? append_lower(out, in, i) : append_upper(out, in[i]);
  return encode_utf8(out);
}

std::string_view strip_left(std::string_view text, std::string_view characters) {
  const bool whitespace = characters.data() == nullptr;
  const std::u32string set = decode_utf8(characters);
  size_t start = 0;
  for (size_t next = 0; start < text.size(); start = next)
    if (!is_stripped(next_code_point(text, next), set, whitespace)) break;
  return text.substr(start);
}

std::string_view strip_right(std::string_view text, std::string_view characters) {
  const bool whitespace = characters.data() == nullptr;
  const std::u32string set = decode_utf8(characters);
  size_t end = text.size();
  while (end > 0) {
    const size_t start = previous_start(text, end);
    size_t position = start;
    if (!is_stripped(next_code_point(text, position), set, whitespace)) break;
    end = start;
  }
  return text.substr(0, end);
}

std::string_view strip(std::string_view text, std::string_view characters) {
  return strip_left(strip_right(text, characters), characters);
}

std::vector<std::string_view> split_lines(std::string_view text, LineEnds ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t position = 0; position < text.size();) {
    const size_t at = position;
    const char32_t c = next_code_point(text, position);
    const bool ends_line =
        (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends_line) continue;
    if (c == '\r' && position < text.size() && text[position] == '\n') ++position;
    lines.push_back(text.substr(start, (ends == LineEnds::kKeep ? position : at) - start));
    start = position;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator, long long limit) {
  if (separator.data() == nullptr) return split_whitespace(text, limit);
  std::vector<std::string_view> parts;
  size_t start = 0;
  while (limit < 0 || static_cast<long long>(parts.size()) < limit) {
    const size_t at = text.find(separator, start);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(start, at - start));
    start = at + separator.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::vector<std::string_view> split_from_right(std::string_view text, std::string_view separator,
                                               long long limit) {
  if (separator.data() == nullptr) return split_whitespace_from_right(text, limit);
  std::vector<std::string_view> parts;
  while (limit < 0 || static_cast<long long>(parts.size()) < limit) {
    const size_t at = text.rfind(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace lanner::text::jinja
