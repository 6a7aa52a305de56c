// SPDX-License-Identifier: MIT
#include <algorithm>

#include "text/bpe.h"
#include "text/bpe_byte_alphabet.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

constexpr std::uint64_t kNoMerge = ~std::uint64_t{0};
constexpr std::uint32_t kNone = ~std::uint32_t{0};
/// Below this, scanning for the best pair beats a queue.
constexpr std::size_t kFewSymbols = 48;

TokenId merged_token(std::uint64_t merge) { return static_cast<TokenId>(merge & 0xFFFFFFFFu); }

/// The heap entry of a pair: the merge's rank, then where the pair stands.
std::uint64_t candidate(std::uint64_t merge, std::uint32_t position) {
  return (merge & ~std::uint64_t{0xFFFFFFFFu}) | position;
}

}  // namespace

void BpeEncoder::encode(std::string_view piece, std::vector<TokenId>& out) {
  if (piece.empty()) return;
  if (model_.whole_pieces_first_) {
    const bool bytes = model_.alphabet_ == BpeAlphabet::kBytes;
    if (const auto id = bytes ? vocabulary_.find(to_byte_level(piece)) : vocabulary_.find(piece)) {
      out.push_back(*id);
      return;
    }
  }
  if (model_.alphabet_ == BpeAlphabet::kBytes && piece.size() <= BpeWordCache::kMaxWordBytes) {
    if (const auto known = cache_.find(piece)) {
      out.insert(out.end(), known->begin(), known->end());
      return;
    }
  }
  encode_by_words(piece, out);
}

TokenId BpeEncoder::next_symbol(std::string_view text, std::size_t& position) const {
  const auto first = static_cast<unsigned char>(text[position]);
  if (model_.alphabet_ == BpeAlphabet::kBytes) {
    ++position;
    return model_.bytes_[first];
  }
  if (first < 0x80) {
    ++position;
    return model_.ascii_[first];
  }
  return model_.character_symbol(next_code_point(text, position));
}

/// The byte tokens of a character that has no token of its own; false when they do not exist.
bool BpeEncoder::append_fallback(std::string_view character, std::vector<TokenId>& out) const {
  const auto token = [&](char byte) { return model_.fallback_tokens_[static_cast<unsigned char>(byte)]; };
  if (!model_.byte_fallback_) return false;
  if (std::any_of(character.begin(), character.end(), [&](char c) { return token(c) == Bpe::kNoSymbol; }))
    return false;
  for (char c : character) out.push_back(token(c));
  return true;
}

void BpeEncoder::encode_by_words(std::string_view piece, std::vector<TokenId>& out) {
  symbols_.clear();
  std::size_t word_begin = 0;
  const auto end_word = [&](std::size_t end) {
    finish_word(piece.substr(word_begin, end - word_begin), out);
    word_begin = end;
  };
  for (std::size_t position = 0; position < piece.size();) {
    const std::size_t begin = position;
    const TokenId symbol = next_symbol(piece, position);
    if (symbol != Bpe::kNoSymbol) {
      if (!symbols_.empty() && !model_.may_merge_across(symbols_.back(), symbol)) end_word(begin);
      symbols_.push_back(symbol);
      continue;
    }
    const bool spelled = model_.cuts_words_ && model_.alphabet_ == BpeAlphabet::kCharacters;
    fallback_.clear();
    if (!spelled || !append_fallback(piece.substr(begin, position - begin), fallback_)) {
      encode_with_unknown(piece.substr(word_begin), out);
      return;
    }
    end_word(begin);
    out.insert(out.end(), fallback_.begin(), fallback_.end());
    word_begin = position;
  }
  end_word(piece.size());
}

/// The general case, with no cuts and nothing remembered: some character has neither a token nor byte tokens.
void BpeEncoder::encode_with_unknown(std::string_view text, std::vector<TokenId>& out) {
  symbols_.clear();
  bool unknown_pending = false;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t begin = position;
    const TokenId symbol = next_symbol(text, position);
    if (symbol != Bpe::kNoSymbol) {
      if (unknown_pending) symbols_.push_back(*model_.unknown_);
      unknown_pending = false;
      symbols_.push_back(symbol);
      continue;
    }
    const std::string_view character = text.substr(begin, position - begin);
    const bool bytes = model_.alphabet_ == BpeAlphabet::kBytes;
    // A pending unknown stays behind these byte tokens: the reference does so, too.
    if (append_fallback(bytes ? to_byte_level(character) : character, symbols_)) continue;
    if (!model_.unknown_) continue;
    if (unknown_pending && !model_.fuse_unknown_) symbols_.push_back(*model_.unknown_);
    unknown_pending = true;
  }
  if (unknown_pending) symbols_.push_back(*model_.unknown_);
  merge_symbols(out);
}

/// Ends a word whose first symbols stand in `symbols_`.
void BpeEncoder::finish_word(std::string_view word, std::vector<TokenId>& out) {
  if (symbols_.size() <= 1 || word.size() > BpeWordCache::kMaxWordBytes) {
    merge_symbols(out);
    return;
  }
  if (const auto known = cache_.find(word)) {
    out.insert(out.end(), known->begin(), known->end());
    symbols_.clear();
    return;
  }
  const std::size_t before = out.size();
  merge_symbols(out);
  cache_.insert(word, std::span(out).subspan(before));
}

void BpeEncoder::merge_symbols(std::vector<TokenId>& out) {
  if (symbols_.size() > kFewSymbols) {
    merge_many(out);
  } else {
    if (symbols_.size() > 1) merge_few();
    out.insert(out.end(), symbols_.begin(), symbols_.end());
  }
  symbols_.clear();
}

void BpeEncoder::merge_few() {
  pair_merges_.clear();
  for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) {
    pair_merges_.push_back(model_.merge_of(symbols_[i], symbols_[i + 1]));
  }
  while (!pair_merges_.empty()) {
    const auto best = std::min_element(pair_merges_.begin(), pair_merges_.end());
    if (*best == kNoMerge) return;
    const auto i = static_cast<std::size_t>(best - pair_merges_.begin());
    symbols_[i] = merged_token(*best);
    symbols_.erase(symbols_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    pair_merges_.erase(best);
    if (i > 0) pair_merges_[i - 1] = model_.merge_of(symbols_[i - 1], symbols_[i]);
    if (i < pair_merges_.size()) pair_merges_[i] = model_.merge_of(symbols_[i], symbols_[i + 1]);
  }
}

/// A linked list of symbols and a queue of possible merges, smallest rank and then leftmost first. A
/// candidate is rank and position in one number: half the memory of a struct, and memory is what a queue this
/// large waits for.
void BpeEncoder::merge_many(std::vector<TokenId>& out) {
  link_symbols();
  while (const auto best = queue_.pop()) {
    const auto left = static_cast<std::uint32_t>(*best);
    const std::uint64_t merge = pair_merges_[left];
    if (candidate(merge, left) != *best) continue;  // the pair has changed since
    const std::uint32_t removed = next_[left];
    symbols_[left] = merged_token(merge);
    pair_merges_[removed] = kNoMerge;
    next_[left] = next_[removed];
    if (next_[left] != kNone) previous_[next_[left]] = left;
    if (previous_[left] != kNone) renew_pair(previous_[left]);
    renew_pair(left);
  }
  for (std::uint32_t i = 0; i != kNone; i = next_[i]) out.push_back(symbols_[i]);
}

void BpeEncoder::link_symbols() {
  const auto count = static_cast<std::uint32_t>(symbols_.size());
  previous_.resize(count);
  next_.resize(count);
  pair_merges_.assign(count, kNoMerge);
  candidates_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    previous_[i] = i == 0 ? kNone : i - 1;
    next_[i] = i + 1 == count ? kNone : i + 1;
    if (i + 1 < count) pair_merges_[i] = model_.merge_of(symbols_[i], symbols_[i + 1]);
    if (pair_merges_[i] != kNoMerge) candidates_.push_back(candidate(pair_merges_[i], i));
  }
  queue_.start(candidates_);
}

/// Looks up the merge of the symbol at `left` with its present neighbour.
void BpeEncoder::renew_pair(std::uint32_t left) {
  const std::uint32_t right = next_[left];
  pair_merges_[left] = right == kNone ? kNoMerge : model_.merge_of(symbols_[left], symbols_[right]);
  if (pair_merges_[left] != kNoMerge) queue_.push(candidate(pair_merges_[left], left));
}

}  // namespace lanner::text
