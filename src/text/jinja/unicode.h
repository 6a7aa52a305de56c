// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Python's view of text (code points, its character classes and case mappings) over UTF-8 bytes.
namespace lanner::text::jinja {

/// True when every byte is below 0x80, so that bytes and code points coincide.
bool is_ascii(std::string_view text);

/// Decodes UTF-8. A byte that starts no valid sequence becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);
void append_utf8(std::string& out, char32_t code_point);

/// Reads the code point at `position` and moves past it. Needs position < text.size().
char32_t next_code_point(std::string_view text, size_t& position);

/// Number of code points: Python's len(str).
size_t code_point_count(std::string_view text);

/// Code points [first, last) of `text`, clamped to its length.
std::string_view code_point_range(std::string_view text, size_t first, size_t last);

bool is_space(char32_t c);       ///< str.isspace of one character.
bool is_printable(char32_t c);   ///< str.isprintable of one character.
bool is_alphabetic(char32_t c);  ///< str.isalpha of one character.
bool is_decimal(char32_t c);     ///< str.isdecimal of one character.
bool is_numeric(char32_t c);     ///< str.isalnum and not str.isalpha of one character, nearly.
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_titlecase(char32_t c);
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);        ///< str.title: a capital after every non-letter.
std::string to_capitalized(std::string_view text);  ///< str.capitalize.
std::string to_swapped_case(std::string_view text);

/// str.strip family; an empty `characters` view with data() == nullptr means whitespace.
std::string_view strip_left(std::string_view text, std::string_view characters = {});
std::string_view strip_right(std::string_view text, std::string_view characters = {});
std::string_view strip(std::string_view text, std::string_view characters = {});

enum class LineEnds { kDrop, kKeep };
/// str.splitlines.
std::vector<std::string_view> split_lines(std::string_view text, LineEnds ends = LineEnds::kDrop);

/// str.split / str.rsplit on a separator (not empty) or, with std::string_view{} , on whitespace runs.
/// limit < 0 means no limit.
std::vector<std::string_view> split(std::string_view text, std::string_view separator, long long limit);
std::vector<std::string_view> split_from_right(std::string_view text, std::string_view separator,
                                               long long limit);

}  // namespace lanner::text::jinja
