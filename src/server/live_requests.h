// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "server/json_body.h"

namespace lanner::server {

/// The generating requests in work, by request id: to list and to cancel them. May be used from any thread.
class LiveRequests {
 public:
  struct Entry {
    std::string answer_id;  ///< "chatcmpl-..."
    std::string path;
    std::int64_t created = 0;  ///< seconds since 1970
    std::size_t prompt_tokens = 0;
    std::function<void()> cancel;  ///< from any thread
  };

  /// → what to give to remove().
  std::uint64_t add(const std::string& request_id, Entry entry);
  void remove(std::uint64_t key);
  /// By request id or answer id. False when there is none.
  bool cancel(const std::string& id);
  Json list() const;

 private:
  struct Named {
    std::string request_id;
    Entry entry;
  };
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Named> entries_;
};

}  // namespace lanner::server
