// SPDX-License-Identifier: MIT
#include "text/grammar/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/tokenizer.h"
#include "text/unicode.h"

namespace lanner::text::grammar {

namespace {

/// How many characters a plain text has; 0 when it is not plain.
std::size_t plain_characters(std::string_view text) {
  std::size_t characters = 0;
  while (!text.empty()) {
    const Utf8Step step = read_utf8(text);
    if (step.status != Utf8Status::kValid || step.code_point < 0x20 || step.code_point == '"' ||
        step.code_point == '\\')
      return 0;
    text.remove_prefix(step.length);
    ++characters;
  }
  return characters;
}

}  // namespace

GrammarVocabulary::GrammarVocabulary(const Tokenizer& tokenizer, std::vector<TokenId> stop_ids)
    : size_(tokenizer.vocab_size()), stop_ids_(std::move(stop_ids)) {
  std::vector<bool> marks(size_);
  for (const AddedToken& token : tokenizer.added_tokens()) {
    if (!token.is_marker() || token.id < 0 || static_cast<std::size_t>(token.id) >= size_) continue;
    marks[static_cast<std::size_t>(token.id)] = true;
    markers_.push_back({token.id, token.content});
  }
  std::vector<TokenBytes> text_tokens;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto id = static_cast<TokenId>(i);
    if (marks[i] || !tokenizer.contains(id)) continue;
    std::string bytes = tokenizer.token_bytes(id);
    if (!bytes.empty()) text_tokens.push_back({id, std::move(bytes)});
  }
  index(std::move(text_tokens));
}

GrammarVocabulary::GrammarVocabulary(std::size_t size, std::vector<TokenBytes> text_tokens,
                                     std::vector<Marker> markers, std::vector<TokenId> stop_ids)
    : size_(size), markers_(std::move(markers)), stop_ids_(std::move(stop_ids)) {
  index(std::move(text_tokens));
}

void GrammarVocabulary::index(std::vector<TokenBytes> text_tokens) {
  std::ranges::sort(text_tokens, {}, &TokenBytes::id);
  std::ranges::sort(markers_, {}, &Marker::id);
  plain_.assign(kMaxPlain + 1, std::vector<std::uint64_t>(mask_words(size_)));
  offsets_.assign(size_ + 1, 0);
  std::vector<TokenBytes> plain, rest;
  for (const TokenBytes& token : text_tokens) {
    offsets_[static_cast<std::size_t>(token.id) + 1] = static_cast<std::uint32_t>(token.bytes.size());
    characters_ += token.bytes;
    if (is_stop(token.id)) continue;
    const std::size_t characters = plain_characters(token.bytes);
    if (characters == 0 || characters > kMaxPlain) {
      rest.push_back(token);
      continue;
    }
    plain.push_back(token);
    for (std::size_t up_to = characters; up_to <= kMaxPlain; ++up_to) allow_token(plain_[up_to], token.id);
  }
  for (std::size_t i = 0; i < size_; ++i) offsets_[i + 1] += offsets_[i];
  rest_ = TokenTrie(std::move(rest));
  plain_trie_ = TokenTrie(std::move(plain));
  classes_ = ClassTrie(plain_trie_, size_);
}

bool GrammarVocabulary::is_stop(TokenId id) const {
  return std::ranges::find(stop_ids_, id) != stop_ids_.end();
}

std::optional<TokenId> GrammarVocabulary::marker(std::string_view name) const {
  const auto found = std::ranges::find(markers_, name, &Marker::name);
  return found == markers_.end() ? std::nullopt : std::optional(found->id);
}

bool GrammarVocabulary::is_marker(TokenId id) const {
  const auto found = std::ranges::lower_bound(markers_, id, {}, &Marker::id);
  return found != markers_.end() && found->id == id;
}

std::string_view GrammarVocabulary::text(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size_) return {};
  const auto i = static_cast<std::size_t>(id);
  return std::string_view(characters_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

std::string stop_marker_message(std::string_view name) {
  return fmt::format("\"{}\" ends an answer: it may come where the grammar ends, so leave it out", name);
}

}  // namespace lanner::text::grammar
