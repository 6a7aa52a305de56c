// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/json_body.h"
#include "server/token_trail.h"

namespace lanner::server {

/// The requests in work, by request id: to list and to cancel them, and to ask for their tokens. May be used
/// from any thread.
class LiveRequests {
 public:
  struct Entry {
    std::string answer_id = {};  ///< "chatcmpl-..."
    std::string path = {};
    std::int64_t created = 0;  ///< seconds since 1970
    std::size_t prompt_tokens = 0;
    std::function<void()> cancel = {};             ///< from any thread
    std::function<void()> end_reasoning = {};      ///< the same; empty where nothing is generated
    std::shared_ptr<const TokenTrail> trail = {};  ///< of the first choice, where tokens are kept
  };

  /// `ended_kept`: so many requests keep their tokens when they end; 0 = tokens are not asked for at all.
  explicit LiveRequests(std::size_t ended_kept = 0) : ended_kept_(ended_kept) {}

  /// → what to give to remove().
  std::uint64_t add(const std::string& request_id, Entry entry);
  void remove(std::uint64_t key);
  /// By request id or answer id. False when there is none.
  bool cancel(const std::string& id) { return call(id, &Entry::cancel); }
  void cancel_all();
  bool end_reasoning(const std::string& id) { return call(id, &Entry::end_reasoning); }
  bool keeps_tokens() const { return ended_kept_ > 0; }
  /// By request id or answer id, also of a request that ended lately.
  std::optional<std::vector<TokenId>> tokens(const std::string& id) const;
  Json list() const;

 private:
  struct Named {
    std::string request_id;
    Entry entry;
  };
  bool call(const std::string& id, std::function<void()> Entry::*what);

  const std::size_t ended_kept_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Named> entries_;
  std::deque<Named> ended_;  ///< the latest last
};

}  // namespace lanner::server
