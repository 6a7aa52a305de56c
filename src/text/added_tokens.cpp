// SPDX-License-Identifier: MIT
#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

std::size_t character_before(std::string_view text, std::size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool touches_word(std::string_view text, TextSpan span) {
  if (span.begin > 0) {
    std::size_t before = character_before(text, span.begin);
    if (is_word(next_code_point(text, before))) return true;
  }
  std::size_t after = span.end;
  return span.end < text.size() && is_word(next_code_point(text, after));
}

/// Start of the white space that ends at `end`, not before `limit`.
std::size_t white_space_begin(std::string_view text, std::size_t end, std::size_t limit) {
  while (end > limit) {
    const std::size_t begin = character_before(text, end);
    std::size_t position = begin;
    if (!is_white_space(next_code_point(text, position))) break;
    end = begin;
  }
  return std::max(end, limit);
}

std::size_t white_space_end(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    std::size_t position = begin;
    if (!is_white_space(next_code_point(text, position))) break;
    begin = position;
  }
  return begin;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer)
    : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    std::string storage;
    const std::string_view text = token.normalized ? normalizer.apply(token.content, storage) : token.content;
    if (!text.empty()) (token.normalized ? normalized_ : raw_).sorted.push_back({std::string(text), i});
  }
  index_by_first_byte(raw_);
  index_by_first_byte(normalized_);
}

void AddedTokens::index_by_first_byte(PatternSet& set) {
  std::stable_sort(set.sorted.begin(), set.sorted.end(),
                   [](const Pattern& a, const Pattern& b) { return a.text < b.text; });
  std::uint32_t pattern = 0;
  for (std::size_t byte = 0; byte <= 256; ++byte) {
    while (pattern < set.sorted.size() && static_cast<unsigned char>(set.sorted[pattern].text[0]) < byte)
      ++pattern;
    set.begins[byte] = pattern;
  }
}

/// Narrows the sorted range by one more byte at a time; the last pattern that ends inside it is the longest.
/// A marker must end at or before `markers_end`.
const AddedTokens::Pattern* AddedTokens::longest_at(const PatternSet& set, std::string_view text,
                                                    std::size_t begin, std::size_t markers_end) const {
  const auto first_byte = static_cast<unsigned char>(text[begin]);
  auto low = set.sorted.begin() + set.begins[first_byte];
  auto high = set.sorted.begin() + set.begins[std::size_t{first_byte} + 1];
  const Pattern* longest = nullptr;
  for (std::size_t depth = 1; low != high; ++depth) {
    if (low->text.size() == depth) {
      if (begin + depth <= markers_end || !tokens_[low->token].is_marker()) longest = &*low;
      while (low != high && low->text.size() == depth) ++low;
    }
    if (begin + depth == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[begin + depth]);
    const auto byte_of = [depth](const Pattern& pattern) {
      return static_cast<unsigned char>(pattern.text[depth]);
    };
    low = std::lower_bound(low, high, byte,
                           [&](const Pattern& p, unsigned char value) { return byte_of(p) < value; });
    high = std::upper_bound(low, high, byte,
                            [&](unsigned char value, const Pattern& p) { return value < byte_of(p); });
  }
  return longest;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, Stage stage, AddedTokenUse use,
                                                  const std::vector<TextSpan>& literal) const {
  std::vector<Part> parts;
  const PatternSet& set = patterns(stage);
  const auto add_text = [&](std::size_t begin, std::size_t end) {
    if (begin < end) parts.push_back({std::nullopt, {begin, end}});
  };
  std::size_t done = 0, position = set.empty() ? text.size() : 0;
  auto span = literal.begin();
  while (position < text.size()) {
    const auto byte = static_cast<unsigned char>(text[position]);
    if (set.begins[byte] == set.begins[std::size_t{byte} + 1]) {
      ++position;
      continue;
    }
    while (span != literal.end() && span->end <= position) ++span;
    // Inside a literal span this lies at or before `position`, so that no marker fits.
    std::size_t markers_end = span == literal.end() ? text.size() : span->begin;
    if (use == AddedTokenUse::kNotMarkers) markers_end = 0;
    const Pattern* pattern = longest_at(set, text, position, markers_end);
    if (pattern == nullptr) {
      ++position;
      continue;
    }
    const AddedToken& token = tokens_[pattern->token];
    TextSpan found{position, position + pattern->text.size()};
    position = found.end;
    if (token.special && use == AddedTokenUse::kNotSpecial) continue;
    if (token.single_word && touches_word(text, found)) continue;
    if (token.lstrip) found.begin = white_space_begin(text, found.begin, done);
    if (token.rstrip) found.end = white_space_end(text, found.end);
    add_text(done, found.begin);
    parts.push_back({token.id, found});
    done = position = std::max(done, found.end);
  }
  add_text(done, text.size());
  return parts;
}

}  // namespace lanner::text
