// SPDX-License-Identifier: MIT
#include "core/portable_math.h"

#include <doctest/doctest.h>

#include <cmath>

#include "random.h"

namespace lanner::test {

TEST_CASE("portable exponentials and logarithms agree with the library's") {
  CHECK(portable_exp(0) == 1);
  CHECK(portable_log(1) == 0);
  for (float value : random_uniform(20000, 1, -40, 1)) {
    const double x = double(value);
    CAPTURE(x);
    CHECK(std::abs(portable_exp(x) - std::exp(x)) <= std::exp(x) * 0x1p-45);
    const double y = std::exp(10 * x);
    CHECK(std::abs(portable_log(y) - std::log(y)) <= std::abs(std::log(y)) * 0x1p-50);
    // Near 1, where all of the result comes from what is beside it.
    const double near = 1 + std::ldexp(std::exp(x / 2), -20);
    CHECK(std::abs(portable_log(near) - std::log(near)) <= std::abs(std::log(near)) * 0x1p-50);
  }
}

TEST_CASE("masses are whole numbers of units: what lies below half of one is none") {
  CHECK(integer_mass(0) == std::uint64_t{1} << 44);
  CHECK(integer_mass(-31.1) == 1);
  CHECK(integer_mass(-31.25) == 0);
  CHECK(integer_mass(-HUGE_VAL) == 0);
  CHECK(log_of_mass(integer_mass(0)) == 0);
  CHECK(mass_target(0) == 0);
  CHECK(mass_target(1) == std::uint64_t{1} << 44);
  CHECK(mass_target(0x1.8p-45F) == 1);
}

TEST_CASE("noise is what its formula says, also for the rarest words") {
  for (std::uint32_t word : {0U, 1U, 77U, 1U << 20, 1U << 31, ~0U - 300, ~0U}) {
    CAPTURE(word);
    const double u = std::min((double(word) + 0.5) * 0x1p-32, 1 - 0x1p-24);
    CHECK(open_uniform(word) == u);
    const double want = -std::log(-std::log1p(-u));
    CHECK(std::abs(gumbel_noise(word) - want) <= (1 + std::abs(want)) * 0x1p-48);
  }
}

}  // namespace lanner::test
