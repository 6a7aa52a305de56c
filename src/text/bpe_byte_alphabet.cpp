// SPDX-License-Identifier: MIT
#include "text/bpe_byte_alphabet.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "text/unicode.h"

namespace lanner::text {
namespace {

constexpr bool stands_for_itself(unsigned value) {
  return (value >= 0x21 && value <= 0x7E) || (value >= 0xA1 && value <= 0xAC) ||
         (value >= 0xAE && value <= 0xFF);
}

/// The other bytes take the characters from U+0100 on, in order.
constexpr std::array<char16_t, 256> make_characters() {
  std::array<char16_t, 256> characters{};
  char16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? static_cast<char16_t>(byte) : next++;
  }
  return characters;
}
constexpr std::array<char16_t, 256> kCharacters = make_characters();
constexpr std::size_t kAlphabetEnd = 0x100 + 68;

constexpr std::array<std::int16_t, kAlphabetEnd> make_bytes() {
  std::array<std::int16_t, kAlphabetEnd> bytes{};
  bytes.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kCharacters[byte]] = static_cast<std::int16_t>(byte);
  return bytes;
}
constexpr std::array<std::int16_t, kAlphabetEnd> kBytes = make_bytes();

}  // namespace

char32_t byte_level_character(unsigned char byte) { return kCharacters[byte]; }

std::optional<unsigned char> byte_level_byte(char32_t character) {
  if (character >= kAlphabetEnd || kBytes[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(kBytes[character]);
}

std::string to_byte_level(std::string_view bytes) {
  std::string out;
  for (char byte : bytes) append_utf8(out, byte_level_character(static_cast<unsigned char>(byte)));
  return out;
}

std::string from_byte_level(std::string_view token) {
  std::string bytes;
  for (std::size_t position = 0; position < token.size();) {
    const std::optional<unsigned char> byte = byte_level_byte(next_code_point(token, position));
    if (!byte) return std::string(token);
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

std::optional<unsigned char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  const char* end = token.data() + 5;
  const auto result = std::from_chars(token.data() + 3, end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return static_cast<unsigned char>(value);
}

std::string fallback_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace lanner::text
