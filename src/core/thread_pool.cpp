// SPDX-License-Identifier: MIT
#include "core/thread_pool.h"

#include <sched.h>

#include <algorithm>

namespace lanner {
namespace {

// A decode step issues hundreds of short operations; sleeping between them costs more than the work.
constexpr int kSpinTurns = 4000;

void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_part(const Job& job, int thread) const {
  const auto parts = static_cast<std::size_t>(threads());
  const std::size_t units = (job.count + job.grain - 1) / job.grain;
  const auto index = static_cast<std::size_t>(thread);
  const std::size_t begin = std::min(job.count, units * index / parts * job.grain);
  const std::size_t end = std::min(job.count, units * (index + 1) / parts * job.grain);
  if (begin < end) job.body(job.context, begin, end, thread);
}

void ThreadPool::run(const Job& job) {
  if (workers_.empty() || job.count <= job.grain) {
    if (job.count != 0) job.body(job.context, 0, job.count, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    job_ = job;
    pending_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  run_part(job, 0);
  for (int turn = 0; pending_.load(std::memory_order_acquire) != 0; ++turn) {
    spin_pause();
    if (turn > kSpinTurns) std::this_thread::yield();
  }
}

void ThreadPool::work(int thread) {
  std::uint64_t seen = 0;
  while (true) {
    for (int turn = 0; turn < kSpinTurns && generation_.load(std::memory_order_acquire) == seen; ++turn)
      spin_pause();
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      seen = generation_.load(std::memory_order_relaxed);
      if (stopping_) return;
      job = job_;
    }
    run_part(job, thread);
    pending_.fetch_sub(1, std::memory_order_release);
  }
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace lanner
