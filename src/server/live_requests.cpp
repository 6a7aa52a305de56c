// SPDX-License-Identifier: MIT
#include "server/live_requests.h"

#include <vector>

namespace lanner::server {

std::uint64_t LiveRequests::add(const std::string& request_id, Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(++next_, Named{request_id, std::move(entry)});
  return next_;
}

void LiveRequests::remove(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  entries_.erase(key);
}

bool LiveRequests::cancel(const std::string& id) {
  std::vector<std::function<void()>> cancels;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, named] : entries_)
      if (named.request_id == id || named.entry.answer_id == id) cancels.push_back(named.entry.cancel);
  }
  for (const auto& cancel : cancels) cancel();
  return !cancels.empty();
}

Json LiveRequests::list() const {
  Json list = Json::array();
  const std::lock_guard lock(mutex_);
  for (const auto& [key, named] : entries_)
    list.push_back({{"id", named.request_id},
                    {"answer_id", named.entry.answer_id},
                    {"path", named.entry.path},
                    {"created", named.entry.created},
                    {"prompt_tokens", named.entry.prompt_tokens}});
  return {{"object", "list"}, {"data", std::move(list)}};
}

}  // namespace lanner::server
