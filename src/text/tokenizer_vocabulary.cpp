// SPDX-License-Identifier: MIT
#include "text/tokenizer_vocabulary.h"

#include <bit>

#include "text/tokenizer_hash.h"

namespace lanner::text {
namespace {

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

Vocabulary::Vocabulary(std::size_t expected_tokens) : slots_(std::bit_ceil(2 * expected_tokens + 2)) {
  ranges_.reserve(expected_tokens);
  characters_.reserve(8 * expected_tokens);
}

Vocabulary::AddResult Vocabulary::add(std::string_view text, TokenId id) {
  if (contains(id)) return AddResult::kIdTaken;
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_bytes(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.id >= 0) return AddResult::kTextTaken;
  slot = {tag_of(hash), id};
  const auto index = static_cast<std::size_t>(id);
  if (index >= ranges_.size()) ranges_.resize(index + 1);
  ranges_[index] = {static_cast<std::uint32_t>(characters_.size()), static_cast<std::uint32_t>(text.size()),
                    true};
  characters_ += text;
  ++count_;
  return AddResult::kAdded;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const TokenId id = slots_[slot_of(text, hash_bytes(text))].id;
  if (id < 0) return std::nullopt;
  return id;
}

std::string_view Vocabulary::text(TokenId id) const {
  if (!contains(id)) return {};
  const Range& range = ranges_[static_cast<std::size_t>(id)];
  return std::string_view(characters_).substr(range.offset, range.size);
}

bool Vocabulary::contains(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < ranges_.size() &&
         ranges_[static_cast<std::size_t>(id)].used;
}

std::size_t Vocabulary::memory_bytes() const {
  return characters_.capacity() + ranges_.capacity() * sizeof(Range) + slots_.capacity() * sizeof(Slot);
}

std::size_t Vocabulary::slot_of(std::string_view text, std::uint64_t hash) const {
  std::size_t i = hash & (slots_.size() - 1);
  while (slots_[i].id >= 0 && (slots_[i].tag != tag_of(hash) || this->text(slots_[i].id) != text)) {
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

void Vocabulary::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    const std::string_view token = text(slot.id);
    slots_[slot_of(token, hash_bytes(token))] = slot;
  }
}

}  // namespace lanner::text
