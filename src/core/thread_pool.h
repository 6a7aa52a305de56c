// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace lanner {

/// Persistent workers for splitting one operation. The caller works too, so a pool of 1 has no workers; and
/// it takes the parts that their workers have not begun, as happens where other programs need the cores.
/// Ranges are split statically, so that each thread finds its memory where it was; share() lets who is done
/// help the others. Callers split outputs, never one sum, so results do not depend on the number of threads.
/// run() must not be called from two threads at once or from inside a task.
class ThreadPool {
 public:
  /// threads >= 1, counting the caller.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(begin, end, thread) for contiguous parts of [0, count), one part per thread, each part a
  /// multiple of `grain` long but the last. Returns when all are done. body must not throw.
  template <typename Body>
  void split(std::size_t count, std::size_t grain, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run({count, grain, const_cast<void*>(static_cast<const void*>(&body)),
         [](void* context, std::size_t begin, std::size_t end, int thread) {
           (*static_cast<Plain*>(context))(begin, end, thread);
         }});
  }

  /// What a thread has yet to do of a shared range: pieces of its own part, then what others have left.
  class Pieces {
   public:
    struct Piece {
      std::size_t begin = 0;
      std::size_t end = 0;
    };
    /// The next piece; none when all have been taken.
    std::optional<Piece> next();

   private:
    friend ThreadPool;
    Pieces(ThreadPool& pool, std::size_t count, std::size_t grain, std::size_t part)
        : pool_(pool), count_(count), grain_(grain), part_(part) {}

    ThreadPool& pool_;
    std::size_t count_;
    std::size_t grain_;
    std::size_t part_;
    std::size_t parts_left_ = pool_.shares_.size();
  };

  /// Calls body(pieces, thread) for each of as many even parts of [0, count) as there are threads; body takes
  /// pieces of at most `grain` until there are none, its own part's first. For ranges so long that cores of
  /// unequal speed would wait for each other. The caller may also do what a late worker has not begun, and
  /// any body may get any piece. body must not throw.
  template <typename Body>
  void share(std::size_t count, std::size_t grain, Body&& body) {
    for (std::size_t part = 0; part < shares_.size(); ++part)
      shares_[part].next.store(count * part / shares_.size(), std::memory_order_relaxed);
    split(shares_.size(), 1, [&](std::size_t begin, std::size_t end, int thread) {
      for (std::size_t part = begin; part < end; ++part) {
        Pieces pieces(*this, count, grain, part);
        body(pieces, thread);
      }
    });
  }

  /// Calls body(index, thread) for every index of [0, count), handed out one at a time. For uneven items.
  template <typename Body>
  void each(std::size_t count, Body&& body) {
    std::atomic<std::size_t> next{0};
    split(static_cast<std::size_t>(threads()) < count ? static_cast<std::size_t>(threads()) : count, 1,
          [&](std::size_t, std::size_t, int thread) {
            for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) body(i, thread);
          });
  }

 private:
  struct Job {
    std::size_t count = 0;
    std::size_t grain = 1;
    void* context = nullptr;
    void (*body)(void* context, std::size_t begin, std::size_t end, int thread) = nullptr;
  };

  void run(const Job& job);
  /// Wakes the workers; returns the new generation.
  std::uint32_t publish();
  /// True for the first that asks for this worker's part of a generation: the worker, or the caller.
  bool claim(int thread, std::uint32_t generation);
  /// Spins, then sleeps, until the generation is another than `seen`; returns it.
  std::uint32_t await(std::uint32_t seen);
  void work(int thread);
  void run_part(const Job& job, int thread) const;

  /// On a line of its own: each worker writes one.
  struct alignas(64) Claim {
    std::atomic<std::uint32_t> generation{0};  ///< the last of which the part was claimed
  };

  /// On a line of its own: mostly one thread takes from it.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};  ///< where what nobody has taken of a part begins
  };

  Job job_;  ///< written while no part is claimed and unfinished, published by generation_
  std::atomic<bool> stopping_{false};
  std::vector<Claim> claims_;  ///< of worker i + 1
  std::vector<Share> shares_;  ///< of thread i
  // On lines of their own: workers watch one while the others are written.
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  alignas(64) std::atomic<std::uint32_t> sleeping_{0};
  alignas(64) std::atomic<std::uint32_t> pending_{0};
  std::vector<std::thread> workers_;
};

/// Cores this process may run on, at least 1.
int available_cores();

}  // namespace lanner
