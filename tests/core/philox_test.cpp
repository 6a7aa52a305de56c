// SPDX-License-Identifier: MIT
#include "core/philox.h"

#include <doctest/doctest.h>

#include <set>

using namespace lanner;

TEST_CASE("philox4x32: the known answers of the Random123 distribution") {
  using Words = std::array<std::uint32_t, 4>;
  CHECK(philox4x32(0, {0, 0, 0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox4x32: neighbouring counters and keys give different blocks") {
  std::set<std::array<std::uint32_t, 4>> seen;
  for (std::uint32_t counter = 0; counter < 100; ++counter)
    for (std::uint64_t key = 0; key < 10; ++key) seen.insert(philox4x32(key, {counter, 0, 0, 0}));
  CHECK(seen.size() == 1000);
}

TEST_CASE("philox4x32: a run has the words of its counters one by one") {
  for (const std::array<std::uint32_t, 4> first :
       {std::array<std::uint32_t, 4>{0, 0, 0, 0}, {62064, 17, 0, 3}, {0xfffffff8, 0xffffffff, 1, 2}}) {
    const PhiloxRun run = philox4x32_run(0x299f31d0a4093822, first);
    for (std::uint32_t i = 0; i < kPhiloxRun; ++i) {
      const auto words = philox4x32(0x299f31d0a4093822, {first[0] + i, first[1], first[2], first[3]});
      for (std::size_t j = 0; j < words.size(); ++j) CHECK(run[j][i] == words[j]);
    }
  }
}
