// SPDX-License-Identifier: MIT
#include "server/response_store.h"

namespace lanner::server {

void ResponseStore::remove(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

void ResponseStore::put(const std::string& id, Stored stored) {
  const std::size_t bytes = write_json(stored.response).size() + write_json(stored.messages).size();
  const std::lock_guard lock(mutex_);
  const auto now = clock_();
  if (const auto found = by_id_.find(id); found != by_id_.end()) remove(found->second);
  if (bytes > most_bytes_) return;
  while (!entries_.empty() && bytes_ + bytes > most_bytes_) remove(std::prev(entries_.end()));
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (now - entry->made > kLifetime) remove(entry);
    entry = next;
  }
  entries_.push_front({id, std::move(stored), bytes, now});
  by_id_[id] = entries_.begin();
  bytes_ += bytes;
}

std::optional<ResponseStore::Stored> ResponseStore::get(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  if (clock_() - found->second->made > kLifetime) {
    remove(found->second);
    return std::nullopt;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->stored;
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
