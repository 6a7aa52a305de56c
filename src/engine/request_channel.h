// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/event.h"

namespace lanner::engine {

/// Carries a request's events from the engine to whoever reads them. The engine never waits here: it stops
/// working on a request whose reader is `capacity` events behind, until the reader has caught up by half.
class RequestChannel {
 public:
  /// `wake` is called, on the reader's thread, when the engine has something to look at again.
  RequestChannel(std::size_t capacity, std::function<void()> wake);

  /// Engine side. Nothing comes after a RequestEnd or Failure.
  void push(Event event);
  /// False while the reader is too far behind.
  bool has_room() const { return !full_.load(std::memory_order_acquire); }
  bool is_cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  bool is_reasoning_over() const { return reasoning_over_.load(std::memory_order_relaxed); }

  /// Reader side: the next event; std::nullopt when none came in time, or none will come any more.
  std::optional<Event> next(std::optional<std::chrono::milliseconds> timeout);
  /// True when the last event was read.
  bool is_over() const;
  void cancel();
  void end_reasoning() { reasoning_over_.store(true, std::memory_order_relaxed); }
  /// `listener` is called on the engine's thread after each event, and now when some wait. It must not block.
  void listen(std::function<void()> listener);

 private:
  const std::size_t capacity_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> events_;
  std::shared_ptr<const std::function<void()>> listener_;
  bool closed_ = false;  ///< the last event was pushed
  std::atomic<bool> full_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> reasoning_over_{false};
};

}  // namespace lanner::engine
