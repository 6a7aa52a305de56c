// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lanner::server {

/// Answers of the Responses API that later requests continue: for an hour, the latest used ones, up to a
/// number of bytes of memory. Kept as text, which takes a fraction of what parsed JSON does. May be used from
/// any thread.
class ResponseStore {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;
  static constexpr std::chrono::hours kLifetime{1};
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  struct Stored {
    std::string response;  ///< as it was sent
    std::string messages;  ///< the conversation up to its end, JSON in chat form
  };

  explicit ResponseStore(std::size_t most_bytes = kMostBytes, Clock clock = std::chrono::steady_clock::now)
      : most_bytes_(most_bytes), clock_(std::move(clock)) {}

  /// What is larger than the store is not kept.
  void put(const std::string& id, const Stored& stored);
  std::optional<Stored> get(const std::string& id);
  bool erase(const std::string& id);
  /// What the entries take of the heap, with the allocator's own.
  std::size_t size_bytes() const;

 private:
  struct Entry {
    std::string id;
    std::string text = {};  ///< the response, then the messages
    std::size_t response_size = 0;
    Time made;
  };
  using Entries = std::list<Entry>;

  static std::size_t bytes_of(std::size_t id_size, std::size_t text_size);
  static bool is_over(const Entry& entry, Time now) { return now - entry.made > kLifetime; }
  void remove(Entries::iterator entry);

  const std::size_t most_bytes_;
  const Clock clock_;
  mutable std::mutex mutex_;
  Entries entries_;                                                ///< the latest used first
  std::unordered_map<std::string_view, Entries::iterator> by_id_;  ///< keys are the entries' ids
  std::size_t bytes_ = 0;
};

}  // namespace lanner::server
