// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/json_body.h"

namespace lanner::server {

/// Answers of the Responses API that later requests continue: for an hour, the latest used ones, up to a
/// number of bytes. May be used from any thread.
class ResponseStore {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  static constexpr std::chrono::hours kLifetime{1};
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  struct Stored {
    Json response;  ///< as it was sent
    Json messages;  ///< the conversation up to its end, in chat form
  };

  explicit ResponseStore(Clock clock = std::chrono::steady_clock::now, std::size_t most_bytes = kMostBytes)
      : clock_(std::move(clock)), most_bytes_(most_bytes) {}

  /// What is larger than the store is not kept.
  void put(const std::string& id, Stored stored);
  std::optional<Stored> get(const std::string& id);
  bool erase(const std::string& id);
  std::size_t size_bytes() const;

 private:
  struct Entry {
    std::string id;
    Stored stored;
    std::size_t bytes = 0;
    std::chrono::steady_clock::time_point made;
  };
  using Entries = std::list<Entry>;
  void remove(Entries::iterator entry);

  const Clock clock_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  ///< the latest used first
  std::unordered_map<std::string, Entries::iterator> by_id_;
  std::size_t bytes_ = 0;
};

}  // namespace lanner::server
