// SPDX-License-Identifier: MIT
#include "text/bpe_word_cache.h"

#include "text/tokenizer_hash.h"

namespace lanner::text {
namespace {

constexpr std::size_t kFirstSlots = 256, kMaxSlots = 32768;

}  // namespace

std::optional<std::span<const TokenId>> BpeWordCache::find(std::string_view word) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(word, hash_bytes(word))];
  if (slot.word_size == 0) return std::nullopt;
  return std::span(ids_).subspan(slot.ids_begin, slot.ids_size);
}

void BpeWordCache::insert(std::string_view word, std::span<const TokenId> ids) {
  if (word.empty() || word.size() > kMaxWordBytes) return;
  if (3 * (count_ + 1) > 2 * slots_.size()) make_room();
  const std::uint64_t hash = hash_bytes(word);
  slots_[slot_of(word, hash)] = {
      hash, static_cast<std::uint32_t>(words_.size()), static_cast<std::uint32_t>(ids_.size()),
      static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(ids.size())};
  words_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++count_;
}

std::size_t BpeWordCache::slot_of(std::string_view word, std::uint64_t hash) const {
  std::size_t i = hash & (slots_.size() - 1);
  while (slots_[i].word_size != 0 &&
         (slots_[i].hash != hash ||
          std::string_view(words_).substr(slots_[i].word_begin, slots_[i].word_size) != word)) {
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

void BpeWordCache::make_room() {
  if (slots_.size() == kMaxSlots) {
    slots_.assign(kMaxSlots, {});
    words_.clear();
    ids_.clear();
    count_ = 0;
    return;
  }
  std::vector<Slot> old(slots_.empty() ? kFirstSlots : 4 * slots_.size());
  if (old.size() > kMaxSlots) old.resize(kMaxSlots);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.word_size == 0) continue;
    std::size_t i = slot.hash & (slots_.size() - 1);
    while (slots_[i].word_size != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

}  // namespace lanner::text
