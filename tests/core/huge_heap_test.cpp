// SPDX-License-Identifier: MIT
#include "core/huge_heap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace lanner {
namespace {

struct Place {
  std::byte* data;
  std::size_t size_bytes;
  std::byte mark;

  bool is_intact() const {
    return std::all_of(data, data + size_bytes, [&](std::byte byte) { return byte == mark; });
  }
};

/// Takes and gives back places of random sizes; false when somebody else wrote to one.
bool use_at_random(HugeHeap& heap, unsigned seed) {
  std::mt19937 dice(seed);
  std::vector<Place> places;
  bool intact = true;
  for (int turn = 0; turn < 400; ++turn) {
    if (places.size() < 20 && dice() % 3 != 0) {
      const std::size_t size = 1 + dice() % (HugeHeap::kHugePage / 2);
      const Place place = {heap.allocate(size), size, static_cast<std::byte>(dice() % 256)};
      if (place.data == nullptr) return false;
      std::memset(place.data, static_cast<int>(place.mark), size);
      places.push_back(place);
    } else if (!places.empty()) {
      std::swap(places[dice() % places.size()], places.back());
      intact = intact && places.back().is_intact();
      heap.release(places.back().data, places.back().size_bytes);
      places.pop_back();
    }
  }
  for (const Place& place : places) {
    intact = intact && place.is_intact();
    heap.release(place.data, place.size_bytes);
  }
  return intact;
}

}  // namespace

TEST_CASE("huge heap: places of several threads never overlap") {
  HugeHeap heap;
  std::vector<int> intact(3);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < intact.size(); ++i)
    threads.emplace_back([&, i] { intact[i] = use_at_random(heap, i) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  for (const int one : intact) CHECK(one == 1);
}

TEST_CASE("huge heap: what was given back is one place again, and its pages are the machine's") {
  HugeHeap heap(0);
  constexpr std::size_t kBlock = (std::size_t{1} << 20) + HugeHeap::kGrain;
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(heap.allocate(kBlock));
    REQUIRE(blocks.back() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()) % HugeHeap::kGrain == 0);
    std::memset(blocks.back(), 1, kBlock);
    if (i > 0) CHECK(blocks.back() == blocks[static_cast<std::size_t>(i) - 1] + kBlock);
  }
  for (const int i : {3, 1, 2, 0, 7, 5, 6, 4}) heap.release(blocks[static_cast<std::size_t>(i)], kBlock);
  std::byte* const whole = heap.allocate(8 * kBlock);
  REQUIRE(whole == blocks.front());
  CHECK(std::all_of(whole, whole + 8 * kBlock / HugeHeap::kHugePage * HugeHeap::kHugePage,
                    [](std::byte byte) { return byte == std::byte{0}; }));
  heap.release(whole, 8 * kBlock);
}

}  // namespace lanner
