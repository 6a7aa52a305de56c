// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine_stats.h"
#include "engine/sequence.h"

namespace lanner::engine {

/// How far an engine's shutdown is.
enum class EngineState : std::uint8_t {
  kOpen,      ///< takes requests
  kDraining,  ///< finishes what it has
  kStopping,  ///< cancels what it has
  kStopped,   ///< the engine's thread has nothing left to do
};

/// What other threads leave for the engine's thread, and what it tells them. Outlives the engine while
/// handles of its requests exist.
struct EngineInbox {
  std::mutex mutex;
  std::condition_variable wake;     ///< for the engine: a message, a cancellation, a reader caught up
  std::condition_variable changed;  ///< for others: the state changed
  std::vector<std::shared_ptr<Ticket>> arrivals;
  std::vector<std::function<void()>> tasks;  ///< to run between steps; they do not throw
  EngineState state = EngineState::kOpen;
  bool has_news = false;
  std::uint64_t submissions = 0;
  std::uint64_t refused = 0;
  bool recovering = false;  ///< see EngineStats
  std::string recovery_reason;
  std::uint64_t device_losses = 0;
  EngineStats stats;

  /// Has a task run between steps. False when the engine has stopped.
  bool run(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex);
      if (state == EngineState::kStopped) return false;
      tasks.push_back(std::move(task));
      has_news = true;
    }
    wake.notify_one();
    return true;
  }
  void notify() {
    {
      const std::lock_guard lock(mutex);
      has_news = true;
    }
    wake.notify_one();
  }
};

}  // namespace lanner::engine
