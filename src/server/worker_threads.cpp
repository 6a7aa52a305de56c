// SPDX-License-Identifier: MIT
#include "server/worker_threads.h"

#include <utility>

namespace lanner::server {

WorkerThreads::WorkerThreads(std::size_t threads) {
  while (threads_.size() < threads) threads_.emplace_back([this] { run(); });
}

void WorkerThreads::queue(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    works_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkerThreads::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void WorkerThreads::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !works_.empty(); });
      if (works_.empty()) return;
      work = std::move(works_.front());
      works_.pop_front();
    }
    work();
  }
}

}  // namespace lanner::server
