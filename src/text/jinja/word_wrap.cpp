// SPDX-License-Identifier: MIT
#include "text/jinja/word_wrap.h"

#include <algorithm>

#include "text/jinja/unicode.h"

namespace lanner::text::jinja {
namespace {

// textwrap counts only the ASCII blanks.
bool is_blank(char32_t c) { return c == ' ' || (c >= 9 && c <= 13); }

// A word may break after a hyphen that has two letters (or a letter and a hyphenated one) before and letters
// after it.
bool breaks_after_hyphen(std::u32string_view word, size_t at) {
  const auto letter = [&](size_t i) { return i < word.size() && is_alphabetic(word[i]); };
  const bool before = (at >= 2 && letter(at - 1) && letter(at - 2)) ||
                      (at >= 3 && letter(at - 1) && word[at - 2] == '-' && letter(at - 3));
  const bool after =
      letter(at + 1) && (letter(at + 2) || (at + 2 < word.size() && word[at + 2] == '-' && letter(at + 3)));
  return before && after;
}

// Alternating words and blank runs; words cut after hyphens when asked.
std::vector<std::u32string> split_chunks(std::u32string_view text, Hyphens hyphens) {
  std::vector<std::u32string> chunks;
  for (size_t at = 0; at < text.size();) {
    const bool blank = is_blank(text[at]);
    size_t end = at;
    while (end < text.size() && is_blank(text[end]) == blank) ++end;
    std::u32string_view run = text.substr(at, end - at);
    at = end;
    for (size_t i = 0; !blank && hyphens == Hyphens::kBreakAfter && i < run.size(); ++i) {
      if (run[i] != '-' || !breaks_after_hyphen(run, i)) continue;
      chunks.emplace_back(run.substr(0, i + 1));
      run.remove_prefix(i + 1);
      i = 0;
    }
    chunks.emplace_back(run);
  }
  return chunks;
}

bool is_blank_chunk(const std::u32string& chunk) {
  return std::all_of(chunk.begin(), chunk.end(), [](char32_t c) { return is_space(c); });
}

// Moves what fits of a word longer than a line, cutting after a hyphen in that part when there is one.
void break_long_word(std::vector<std::u32string>& chunks, std::vector<std::u32string>& line, size_t length,
                     const WrapOptions& options) {
  const size_t width = static_cast<size_t>(options.width);
  const size_t room = width < 1 ? 1 : width - length;
  std::u32string& word = chunks.back();
  if (options.long_words == LongWords::kBreak) {
    size_t end = room;
    if (options.hyphens == Hyphens::kBreakAfter && word.size() > room) {
      const size_t hyphen = room == 0 ? std::u32string::npos : word.rfind(U'-', room - 1);
      const bool useful = hyphen != std::u32string::npos && hyphen > 0 &&
                          std::any_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(hyphen),
                                      [](char32_t c) { return c != '-'; });
      if (useful) end = hyphen + 1;
    }
    line.push_back(word.substr(0, end));
    word = word.substr(end);
  } else if (line.empty()) {
    line.push_back(word);
    chunks.pop_back();
  }
}

}  // namespace

std::vector<std::string> wrap_line(std::string_view text, const WrapOptions& options) {
  std::vector<std::u32string> chunks = split_chunks(decode_utf8(text), options.hyphens);
  std::reverse(chunks.begin(), chunks.end());
  std::vector<std::string> lines;
  const size_t width = static_cast<size_t>(options.width);
  while (!chunks.empty()) {
    std::vector<std::u32string> line;
    size_t length = 0;
    if (!lines.empty() && is_blank_chunk(chunks.back())) chunks.pop_back();
    while (!chunks.empty() && length + chunks.back().size() <= width) {
      length += chunks.back().size();
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().size() > width) break_long_word(chunks, line, length, options);
    if (!line.empty() && is_blank_chunk(line.back())) line.pop_back();
    if (line.empty()) continue;
    std::u32string whole;
    for (const auto& chunk : line) whole += chunk;
    lines.push_back(encode_utf8(whole));
  }
  return lines;
}

}  // namespace lanner::text::jinja
