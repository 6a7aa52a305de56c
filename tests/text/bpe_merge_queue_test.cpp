// SPDX-License-Identifier: MIT
#include "text/bpe_merge_queue.h"

#include <doctest/doctest.h>

#include <functional>
#include <queue>
#include <random>

namespace lanner::text::test {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// Takes everything out of both queues, pushing `pushed` in between; true when they never differ.
bool pops_like_a_heap(const Numbers& first, const Numbers& pushed) {
  BpeMergeQueue queue;
  queue.start({1, 2, 3});  // must be forgotten
  queue.start(first);
  std::priority_queue<std::uint64_t, Numbers, std::greater<>> heap(std::greater<>(), first);
  std::size_t next = 0;
  while (!heap.empty() || next < pushed.size()) {
    for (int i = 0; i < 2 && next < pushed.size(); ++i, ++next) {
      queue.push(pushed[next]);
      heap.push(pushed[next]);
    }
    if (queue.pop() != heap.top()) return false;
    heap.pop();
  }
  return !queue.pop().has_value();
}

Numbers random_numbers(std::size_t count, std::uint64_t limit, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  Numbers numbers(count);
  for (std::uint64_t& number : numbers) number = random() % limit;
  return numbers;
}

/// Rising numbers of several ranks in turn, as merging a repeated character pushes them.
Numbers rising_in_turn(std::uint64_t ranks, std::uint64_t count) {
  Numbers numbers;
  for (std::uint64_t i = 0; i < count; ++i)
    for (std::uint64_t rank = ranks; rank > 0; --rank) numbers.push_back(rank << 32 | i);
  return numbers;
}

}  // namespace

TEST_CASE("merge queue: whatever is pushed comes out smallest first") {
  CHECK(pops_like_a_heap({}, {}));
  CHECK(pops_like_a_heap({0, 0, 5}, {0, 4, 4}));
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(pops_like_a_heap(random_numbers(seed * 7, 1000, seed), random_numbers(500, 1000, seed + 100)));
    CHECK(pops_like_a_heap(random_numbers(300, ~0ULL, seed), random_numbers(100, ~0ULL, seed + 200)));
  }
}

TEST_CASE("merge queue: rising sequences in turn come out in order, also when there are more than runs") {
  for (std::uint64_t ranks : {1, 2, 7, 8, 9, 40}) {
    CAPTURE(ranks);
    CHECK(pops_like_a_heap(rising_in_turn(1, 100), rising_in_turn(ranks, 50)));
  }
}

}  // namespace lanner::text::test
