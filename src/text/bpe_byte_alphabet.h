// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lanner::text {

/// The printable character by which byte-level vocabularies spell a byte (space is U+0120 "Ġ"). Source:
/// GPT-2's bytes_to_unicode.
char32_t byte_level_character(unsigned char byte);

/// The byte a character stands for, or std::nullopt for one outside the alphabet.
std::optional<unsigned char> byte_level_byte(char32_t character);

/// Bytes in the alphabet's spelling, as in the vocabulary.
std::string to_byte_level(std::string_view bytes);

/// The bytes of a token; the text itself when any of its characters is outside the alphabet, as in the
/// reference (added tokens with spaces).
std::string from_byte_level(std::string_view token);

/// The byte of a byte-fallback token "<0xE2>", or std::nullopt.
std::optional<unsigned char> fallback_byte(std::string_view token);

/// "<0xE2>".
std::string fallback_token(unsigned char byte);

}  // namespace lanner::text
