// SPDX-License-Identifier: MIT
#include "server/live_requests.h"

#include <algorithm>
#include <vector>

namespace lanner::server {

std::uint64_t LiveRequests::add(const std::string& request_id, Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(++next_, Named{request_id, std::move(entry)});
  return next_;
}

void LiveRequests::remove(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  auto ended = entries_.extract(key);
  if (ended.empty() || !ended.mapped().entry.trail) return;
  ended.mapped().entry.cancel = nullptr;
  ended.mapped().entry.end_reasoning = nullptr;
  ended_.push_back(std::move(ended.mapped()));
  if (ended_.size() > ended_kept_) ended_.pop_front();
}

void LiveRequests::cancel_all() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, named] : entries_) calls.push_back(named.entry.cancel);
  }
  for (const auto& call : calls) call();
}

bool LiveRequests::call(const std::string& id, std::function<void()> Entry::*what) {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, named] : entries_)
      if ((named.request_id == id || named.entry.answer_id == id) && named.entry.*what)
        calls.push_back(named.entry.*what);
  }
  for (const auto& call : calls) call();
  return !calls.empty();
}

std::optional<std::vector<TokenId>> LiveRequests::tokens(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const Named& named) {
    return named.entry.trail && (named.request_id == id || named.entry.answer_id == id);
  };
  for (const auto& [key, named] : entries_)
    if (is_it(named)) return named.entry.trail->tokens();
  const auto ended = std::find_if(ended_.rbegin(), ended_.rend(), is_it);
  if (ended == ended_.rend()) return std::nullopt;
  return ended->entry.trail->tokens();
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
