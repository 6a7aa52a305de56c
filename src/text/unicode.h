// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanner::text {

/// U+FFFD in UTF-8: what stands for bytes that are not text.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

enum class Utf8Status {
  kValid,       ///< `length` bytes are one well-formed character.
  kInvalid,     ///< `length` bytes can never become a character (a maximal ill-formed part: one U+FFFD).
  kIncomplete,  ///< All `length` remaining bytes begin a character that more bytes could complete.
};

struct Utf8Step {
  char32_t code_point = 0;  ///< Meaningful for kValid only.
  std::size_t length = 0;
  Utf8Status status = Utf8Status::kInvalid;
};

/// Reads what stands at the front of `text`, which must not be empty. Ill-formed input is cut as in the
/// Unicode standard, "Substitution of Maximal Subparts" (what Rust's from_utf8_lossy does).
Utf8Step read_utf8(std::string_view text);

/// Reads the character at `position` of well-formed text and moves `position` behind it.
char32_t next_code_point(std::string_view text, std::size_t& position);

void append_utf8(std::string& out, char32_t code_point);

/// Offset of the first byte that is not well-formed UTF-8, or npos when all of it is.
std::size_t find_invalid_utf8(std::string_view text);

/// The same text with each maximal ill-formed part replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

/// Unicode White_Space.
bool is_white_space(char32_t code_point);

/// General categories Nd, Nl, No.
bool is_numeric(char32_t code_point);

/// Letters, marks, decimal digits, connector punctuation and joiners: a regex's `\w`.
bool is_word(char32_t code_point);

/// Turns bytes that arrive in arbitrary pieces into text, holding back at most three bytes of a character
/// that is not complete yet. The concatenated output does not depend on how the bytes were cut.
class Utf8Stream {
 public:
  /// Appends to `out` everything that is certain after these bytes.
  void append(std::string_view bytes, std::string& out);
  /// Ends the text: a character that never completed becomes one U+FFFD.
  void finish(std::string& out);
  std::size_t held_bytes() const { return held_.size(); }

 private:
  std::string held_;
};

}  // namespace lanner::text
