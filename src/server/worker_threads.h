// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lanner::server {

/// Threads for what connections must not wait for. All members may be called from any thread.
class WorkerThreads {
 public:
  explicit WorkerThreads(std::size_t threads);
  ~WorkerThreads() { finish(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Begins `work`, which must not throw, after all given before; drops it after finish().
  void queue(std::function<void()> work);
  /// Does what was queued and ends the threads.
  void finish();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> works_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lanner::server
