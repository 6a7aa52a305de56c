// SPDX-License-Identifier: MIT
#include "core/thread_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

using namespace lanner;

namespace {

struct Part {
  std::size_t begin;
  std::size_t end;
  int thread;
  friend bool operator==(const Part&, const Part&) = default;
};

std::vector<Part> parts_of(ThreadPool& pool, std::size_t count, std::size_t grain) {
  std::vector<Part> parts;
  std::mutex mutex;
  pool.split(count, grain, [&](std::size_t begin, std::size_t end, int thread) {
    const std::lock_guard lock(mutex);
    parts.push_back({begin, end, thread});
  });
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  return parts;
}

}  // namespace

TEST_CASE("thread pool: parts cover the range once, end at multiples of the grain and never change") {
  for (int threads : {1, 2, 3, 5, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (std::size_t count : {0, 1, 2, 7, 16, 100, 1000})
      for (std::size_t grain : {1, 3, 16, 64}) {
        CAPTURE(threads);
        CAPTURE(count);
        CAPTURE(grain);
        const auto parts = parts_of(pool, count, grain);
        std::size_t covered = 0;
        for (const Part& part : parts) {
          CHECK(part.begin == covered);
          CHECK(part.begin % grain == 0);
          CHECK(part.begin < part.end);
          CHECK(part.thread >= 0);
          CHECK(part.thread < threads);
          covered = part.end;
        }
        CHECK(covered == count);
        CHECK(parts.size() <= std::size_t(threads));
        CHECK(parts_of(pool, count, grain) == parts);
      }
  }
}

TEST_CASE("thread pool: shared pieces cover the range once and are at most of the grain's length") {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (std::size_t count : {0, 1, 7, 16, 100, 1000})
      for (std::size_t grain : {1, 3, 16, 64}) {
        CAPTURE(threads);
        CAPTURE(count);
        CAPTURE(grain);
        std::vector<std::atomic<int>> seen(count);
        std::atomic<std::size_t> wrong{0};
        pool.share(count, grain, [&](ThreadPool::Pieces& pieces, int thread) {
          if (thread < 0 || thread >= threads) ++wrong;
          while (const auto piece = pieces.next()) {
            if (piece->begin >= piece->end || piece->end > std::min(count, piece->begin + grain)) ++wrong;
            for (std::size_t i = piece->begin; i < piece->end; ++i) ++seen[i];
          }
        });
        CHECK(wrong == 0);
        CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }));
      }
  }
}

TEST_CASE("thread pool: who is done takes the pieces that a slow thread has left") {
  constexpr std::size_t kCount = 64;
  ThreadPool pool(2);
  std::atomic<std::size_t> taken{0};
  std::atomic<std::size_t> helped{0};
  pool.share(kCount, 1, [&](ThreadPool::Pieces& pieces, int thread) {
    while (const auto piece = pieces.next()) {
      ++taken;
      if (thread == 1 && piece->begin < kCount / 2) ++helped;
      if (thread != 0) continue;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (taken < kCount && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    }
  });
  CHECK(taken == kCount);
  CHECK(helped == kCount / 2 - 1);
}

TEST_CASE("thread pool: each hands out every index once") {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (std::size_t count : {0, 1, 3, 64, 1000}) {
      std::vector<std::atomic<int>> visits(count);
      pool.each(count, [&](std::size_t index, int thread) {
        CHECK(thread < threads);
        visits[index].fetch_add(1);
      });
      for (const auto& visit : visits) CHECK(visit.load() == 1);
    }
  }
}

TEST_CASE("thread pool: thousands of short operations of changing size lose no work") {
  ThreadPool pool(4);
  std::vector<std::uint32_t> values(257);
  constexpr int kRounds = 5000;
  std::uint64_t expected = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t count = std::size_t(round) % values.size() + 1;
    expected += count;
    pool.split(count, 1, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) ++values[i];  // disjoint parts: no lock needed
    });
  }
  std::uint64_t total = 0;
  for (std::uint32_t value : values) total += value;
  CHECK(total == expected);
}

TEST_CASE("thread pool: the writes of one operation are seen by the next") {
  ThreadPool pool(3);
  std::vector<int> a(999);
  std::vector<int> b(999);
  for (int round = 1; round <= 500; ++round) {
    pool.split(a.size(), 1, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) a[i] = round;
    });
    pool.split(b.size(), 1, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) b[i] = a[a.size() - 1 - i];
    });
    REQUIRE(std::count(b.begin(), b.end(), round) == 999);
  }
}

TEST_CASE("thread pool: pools can be created and destroyed without work") {
  for (int round = 0; round < 50; ++round) ThreadPool pool(4);
  CHECK(available_cores() >= 1);
}
