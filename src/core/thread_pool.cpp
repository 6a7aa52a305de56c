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

ThreadPool::ThreadPool(int threads)
    : claims_(static_cast<std::size_t>(std::max(threads, 1)) - 1), shares_(claims_.size() + 1) {
  for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  publish();
  for (std::thread& worker : workers_) worker.join();
}

std::optional<ThreadPool::Pieces::Piece> ThreadPool::Pieces::next() {
  const std::size_t parts = pool_.shares_.size();
  for (; parts_left_ != 0; --parts_left_) {
    const std::size_t end = count_ * (part_ + 1) / parts;
    std::atomic<std::size_t>& untaken = pool_.shares_[part_].next;
    // Looked at first: a part that is used up is written no more than once by each thread.
    if (untaken.load(std::memory_order_relaxed) < end) {
      const std::size_t begin = untaken.fetch_add(grain_, std::memory_order_relaxed);
      if (begin < end) return Piece{begin, std::min(begin + grain_, end)};
    }
    part_ = part_ + 1 == parts ? 0 : part_ + 1;
  }
  return std::nullopt;
}

std::uint32_t ThreadPool::publish() {
  // In one total order with the worker's announcement that it goes to sleep: either it sees the new
  // generation, or it is seen here.
  const std::uint32_t generation = generation_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (sleeping_.load(std::memory_order_seq_cst) != 0) generation_.notify_all();
  return generation;
}

bool ThreadPool::claim(int thread, std::uint32_t generation) {
  // Every part of the generation before was claimed, so a worker that comes too late finds another value.
  std::uint32_t before = generation - 1;
  return claims_[static_cast<std::size_t>(thread) - 1].generation.compare_exchange_strong(
      before, generation, std::memory_order_acq_rel);
}

std::uint32_t ThreadPool::await(std::uint32_t seen) {
  for (int turn = 0; turn < kSpinTurns; ++turn) {
    const std::uint32_t now = generation_.load(std::memory_order_acquire);
    if (now != seen) return now;
    spin_pause();
  }
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  generation_.wait(seen, std::memory_order_seq_cst);
  sleeping_.fetch_sub(1, std::memory_order_relaxed);
  return generation_.load(std::memory_order_acquire);
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
  job_ = job;
  pending_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  const std::uint32_t generation = publish();
  run_part(job, 0);
  for (int thread = 1; thread < threads(); ++thread) {
    if (!claim(thread, generation)) continue;
    run_part(job, thread);
    pending_.fetch_sub(1, std::memory_order_relaxed);
  }
  for (int turn = 0; pending_.load(std::memory_order_acquire) != 0; ++turn) {
    spin_pause();
    if (turn > kSpinTurns) std::this_thread::yield();
  }
}

void ThreadPool::work(int thread) {
  for (std::uint32_t seen = 0;;) {
    seen = await(seen);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (!claim(thread, seen)) continue;
    run_part(job_, thread);
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
