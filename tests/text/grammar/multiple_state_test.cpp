// SPDX-License-Identifier: MIT
#include "text/grammar/multiple_state.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace lanner::text::grammar {
namespace {

bool accepts(MultipleState state, const std::string& text) {
  for (const char c : text) {
    const auto next = read_byte(state, static_cast<std::uint8_t>(c));
    if (!next) return false;
    state = *next;
  }
  return is_multiple(state);
}

/// How many states texts of digits reach.
std::size_t count_states(const MultipleState& start) {
  std::vector<MultipleState> found = {start};
  const auto known = [&](const MultipleState& state) {
    for (const MultipleState& other : found)
      if (other == state) return true;
    return false;
  };
  for (std::size_t i = 0; i < found.size(); ++i)
    for (char c = '0'; c <= '9'; ++c) {
      const MultipleState next = *read_byte(found[i], static_cast<std::uint8_t>(c));
      if (!known(next)) found.push_back(next);
    }
  return found.size();
}

}  // namespace

TEST_CASE("multiples: the states of a text say whether it is one") {
  for (std::uint64_t divisor = 1; divisor <= 300; ++divisor) {
    CAPTURE(divisor);
    const MultipleState start = multiples_of(divisor, 0);
    for (std::uint64_t value = 0; value < 4000; ++value)
      if (accepts(start, std::to_string(value)) != (value % divisor == 0)) FAIL("wrong for " << value);
  }
}

TEST_CASE("multiples: large divisors that share factors with 10") {
  for (const std::uint64_t divisor : {1024ULL, 3600ULL, 4096ULL, 65536ULL, 86400ULL, 1000000ULL,
                                      1220703125ULL, 9765625000ULL, 1ULL << 60, 1000000000000000000ULL}) {
    CAPTURE(divisor);
    const MultipleState start = multiples_of(divisor, 0);
    for (std::uint64_t factor = 0; factor < 2000; ++factor) {
      const std::uint64_t value = factor * (factor < 16 ? 1 : 7919) % (UINT64_MAX / divisor) * divisor;
      CHECK(accepts(start, std::to_string(value)));
      for (const std::uint64_t off : {std::uint64_t{1}, std::uint64_t{10}, divisor / 2, divisor - 1})
        if (off % divisor != 0 && value <= UINT64_MAX - off)
          CHECK_FALSE(accepts(start, std::to_string(value + off)));
    }
  }
}

TEST_CASE("multiples: zeros behind the point and places of the divisor") {
  CHECK(accepts(multiples_of(3600, 0), "7200.00"));
  CHECK_FALSE(accepts(multiples_of(3600, 0), "7200.50"));
  CHECK_FALSE(accepts(multiples_of(3600, 0), "720.0"));
  CHECK(accepts(multiples_of(25, 2), "1.75"));
  CHECK(accepts(multiples_of(25, 2), "3"));
  CHECK_FALSE(accepts(multiples_of(25, 2), "1.7"));
  CHECK_FALSE(accepts(multiples_of(5, 0), "5.0.0"));
}

TEST_CASE("multiples: as few states as there are for divisibility") {
  // Alexeev's formula: the least sum over A of divisor / gcd(divisor, 10^A) and 10^i / gcd(divisor, 10^i) for
  // i < A.
  CHECK(count_states(multiples_of(7, 0)) == 7);
  CHECK(count_states(multiples_of(10, 0)) == 2);
  CHECK(count_states(multiples_of(3600, 0)) == 17);
  CHECK(count_states(multiples_of(2048, 0)) == 284);
  CHECK(count_states(multiples_of(86400, 0)) == 141);
  CHECK(count_states(multiples_of(1000000, 0)) == 7);
}

}  // namespace lanner::text::grammar
