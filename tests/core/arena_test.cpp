// SPDX-License-Identifier: MIT
#include "core/arena.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/error.h"

using namespace lanner;

TEST_CASE("arena: memory is aligned to 64 bytes and does not overlap") {
  Arena arena;
  std::byte* previous_end = nullptr;
  for (std::size_t size : {1, 63, 64, 65, 1000, 7}) {
    auto* memory = static_cast<std::byte*>(arena.allocate(size));
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    if (previous_end != nullptr) CHECK(memory >= previous_end);
    std::memset(memory, 1, size);
    previous_end = memory + size;
  }
}

TEST_CASE("arena: after a rewind the same memory is handed out again") {
  Arena arena;
  arena.allocate(100);
  const Arena::Mark mark = arena.mark();
  void* first = arena.allocate(1000);
  void* second = arena.allocate(5 << 20);  // larger than a block
  arena.rewind(mark);
  CHECK(arena.allocate(1000) == first);
  CHECK(arena.allocate(5 << 20) == second);
}

TEST_CASE("arena: a steady state takes no more memory from the system") {
  Arena arena;
  std::size_t capacity = 0;
  for (int step = 0; step < 5; ++step) {
    arena.reset();
    for (std::size_t size : {300'000, 900'000, 10, 3'000'000, 500'000}) arena.allocate(size);
    if (step == 0) capacity = arena.capacity_bytes();
    CHECK(arena.capacity_bytes() == capacity);
  }
}

TEST_CASE("arena: a scope gives back what was allocated inside it") {
  Arena arena;
  arena.allocate(64);
  void* inner = nullptr;
  {
    const ArenaScope scope(arena);
    inner = arena.allocate(128);
    const ArenaScope nested(arena);
    CHECK(arena.allocate(128) != inner);
  }
  CHECK(arena.allocate(128) == inner);
}

TEST_CASE("arena: float tensors have the asked shape") {
  Arena arena;
  const Tensor tensor = arena.floats({3, 5});
  CHECK(tensor.shape == Shape{3, 5});
  CHECK(tensor.dtype == DType::kF32);
  CHECK(tensor.floats().size() == 15);
}

TEST_CASE("buffer: owns zeroed memory and moves") {
  Buffer buffer = Buffer::zeroed(1000);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % Buffer::kAlignment == 0);
  for (std::size_t i = 0; i < buffer.size_bytes(); ++i) CHECK(buffer.data()[i] == std::byte{0});
  std::byte* memory = buffer.data();
  const Buffer moved = std::move(buffer);
  CHECK(moved.data() == memory);
  CHECK(moved.size_bytes() == 1000);
  CHECK(Buffer(0).size_bytes() == 0);
}

TEST_CASE("buffer: an impossible size is an out-of-memory error that names it") {
  constexpr std::size_t kHuge = std::size_t{1} << 60;
  CHECK_THROWS_WITH_AS(Buffer{kHuge}, doctest::Contains("1152921504606846976"), Error);
}
