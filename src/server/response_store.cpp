// SPDX-License-Identifier: MIT
#include "server/response_store.h"

namespace lanner::server {
namespace {

/// What the heap gives for `size` bytes: with a header, in steps of 16; large ones in pages of their own.
std::size_t on_heap(std::size_t size) {
  constexpr std::size_t kStep = 16, kPage = 4096, kOfPages = 128 << 10;
  const std::size_t step = size < kOfPages ? kStep : kPage;
  return (size + kStep + step - 1) / step * step;
}

}  // namespace

std::size_t ResponseStore::bytes_of(std::size_t id_size, std::size_t text_size) {
  struct ListNode {
    void* links[2];
    Entry entry;
  };
  struct MapNode {
    void* link;
    std::pair<std::string_view, Entries::iterator> value;
    std::size_t hash;
    void* buckets[2];  // while the table of buckets grows there are two
  };
  return on_heap(sizeof(ListNode)) + on_heap(sizeof(MapNode)) + on_heap(id_size + 1) + on_heap(text_size + 1);
}

void ResponseStore::remove(Entries::iterator entry) {
  bytes_ -= bytes_of(entry->id.size(), entry->text.size());
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

void ResponseStore::put(const std::string& id, const Stored& stored) {
  const std::size_t text_size = stored.response.size() + stored.messages.size();
  const std::size_t bytes = bytes_of(id.size(), text_size);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_id_.find(id); found != by_id_.end()) remove(found->second);
  const auto now = clock_();
  for (auto entry = entries_.begin(); entry != entries_.end();)
    if (const auto checked = entry++; is_over(*checked, now)) remove(checked);
  if (bytes > most_bytes_) return;
  while (bytes_ + bytes > most_bytes_) remove(std::prev(entries_.end()));
  Entry entry{.id = id, .response_size = stored.response.size(), .made = now};
  entry.text.reserve(text_size);
  entry.text.append(stored.response).append(stored.messages);
  entries_.push_front(std::move(entry));
  by_id_.emplace(entries_.front().id, entries_.begin());
  bytes_ += bytes;
}

std::optional<ResponseStore::Stored> ResponseStore::get(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  if (is_over(*found->second, clock_())) {
    remove(found->second);
    return std::nullopt;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  const Entry& entry = entries_.front();
  return Stored{entry.text.substr(0, entry.response_size), entry.text.substr(entry.response_size)};
}

bool ResponseStore::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  remove(found->second);
  return true;
}

std::size_t ResponseStore::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace lanner::server
