// SPDX-License-Identifier: MIT
#include "text/unicode.h"

#include <utf8proc.h>

#include <cstring>
#include <utility>

namespace lanner::text {
namespace {

/// What the first byte of a character says: how long it is and which second bytes are allowed (this is where
/// overlong forms, surrogates and values above U+10FFFF fall out).
struct LeadByte {
  std::size_t length = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

LeadByte lead_byte(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

bool eight_ascii_bytes(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080u) == 0;
}

bool is_circled_letter(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

}  // namespace

Utf8Step read_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const LeadByte lead = lead_byte(byte(0));
  if (lead.length == 0) return {0, 1, Utf8Status::kInvalid};
  if (lead.length == 1) return {byte(0), 1, Utf8Status::kValid};
  char32_t code_point = byte(0) & (0x7Fu >> lead.length);
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {0, i, Utf8Status::kIncomplete};
    const unsigned char low = i == 1 ? lead.second_min : 0x80, high = i == 1 ? lead.second_max : 0xBF;
    if (byte(i) < low || byte(i) > high) return {0, i, Utf8Status::kInvalid};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  return {code_point, lead.length, Utf8Status::kValid};
}

char32_t next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[position + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    position += 1;
    return first;
  }
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code_point = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte(i) & 0x3Fu);
  position += length;
  return code_point;
}

void append_utf8(std::string& out, char32_t code_point) {
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
    return;
  }
  const int continuation_bytes = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  const unsigned lead_bits = continuation_bytes == 1 ? 0xC0 : continuation_bytes == 2 ? 0xE0 : 0xF0;
  out.push_back(static_cast<char>(lead_bits | code_point >> (6 * continuation_bytes)));
  for (int i = continuation_bytes - 1; i >= 0; --i)
    out.push_back(static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3F)));
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    if (text.size() - position >= 8 && eight_ascii_bytes(text.data() + position)) {
      position += 8;
      continue;
    }
    const Utf8Step step = read_utf8(text.substr(position));
    if (step.status != Utf8Status::kValid) return position;
    position += step.length;
  }
  return std::string_view::npos;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  Utf8Stream stream;
  stream.append(text, out);
  stream.finish(out);
  return out;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool is_word(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D || is_circled_letter(c);
  }
}

void Utf8Stream::append(std::string_view bytes, std::string& out) {
  if (!held_.empty()) {
    held_ += bytes;
    const std::string joined = std::exchange(held_, {});
    append(joined, out);
    return;
  }
  std::size_t clean_from = 0, position = 0;
  while (position < bytes.size()) {
    const Utf8Step step = read_utf8(bytes.substr(position));
    if (step.status == Utf8Status::kIncomplete) break;
    if (step.status == Utf8Status::kInvalid) {
      out += bytes.substr(clean_from, position - clean_from);
      out += kReplacementCharacter;
      clean_from = position + step.length;
    }
    position += step.length;
  }
  out += bytes.substr(clean_from, position - clean_from);
  held_ = bytes.substr(position);
}

void Utf8Stream::finish(std::string& out) {
  if (!held_.empty()) out += kReplacementCharacter;
  held_.clear();
}

}  // namespace lanner::text
