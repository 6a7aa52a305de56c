// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/portable_math.h"
#include "guarded.h"
#include "kernels/sampling/block_largest.h"
#include "kernels/sampling/mass_sum.h"
#include "kernels/variants.h"
#include "random.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

constexpr std::size_t kCounts[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4096, 5003};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// From a wide range, every seventh -infinity.
std::vector<float> some_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values = random_uniform(count, seed, -40, 3);
  for (std::size_t i = 6; i < count; i += 7) values[i] = -kInfinity;
  return values;
}

std::size_t blocks_of(std::size_t count) { return (count + kLargestBlock - 1) / kLargestBlock; }

}  // namespace

TEST_CASE("block_largest: every variant finds the reference's values at any length and alignment") {
  for (const auto& variant : LANNER_VARIANTS(BlockLargestFn, block_largest))
    for (std::size_t count : kCounts)
      for (std::size_t offset : {0, 1, 3}) {
        CAPTURE(variant.name());
        CAPTURE(count);
        const auto memory = some_values(count + offset, 1);
        const auto values = std::span(memory).subspan(offset);
        std::vector<float> want(blocks_of(count));
        Guarded<float> got(blocks_of(count), offset);
        CHECK(block_largest_reference(want, values));
        CHECK(variant.run({got.data(), got.size()}, values));
        CHECK(std::ranges::equal(got, want));
        CHECK(got.guards_intact());
      }
}

TEST_CASE("block_largest: what is not a number, or +infinity, is told of wherever it stands") {
  for (const auto& variant : LANNER_VARIANTS(BlockLargestFn, block_largest))
    for (float bad : {std::nanf(""), -std::nanf(""), kInfinity})
      for (std::size_t count : {1, 40, 64, 130, 200})
        for (std::size_t at = 0; at < count; ++at) {
          CAPTURE(variant.name());
          CAPTURE(at);
          std::vector<float> values = some_values(count, 2);
          std::vector<float> largest(blocks_of(count));
          values[at] = bad;
          CHECK_FALSE(variant.run(largest, values));
        }
}

TEST_CASE("mass_sum: every variant gives the sum of single masses, whatever is summed") {
  for (const auto& variant : LANNER_VARIANTS(MassSumFn, mass_sum))
    for (std::size_t count : kCounts)
      for (float top : {3.0F, 3.000001F, 20.0F}) {
        CAPTURE(variant.name());
        CAPTURE(count);
        const std::vector<float> values = some_values(count, count);
        std::uint64_t want = 0;
        for (float value : values) want += integer_mass(double(value) - double(top));
        CHECK(variant.run(values, top) == want);
      }
}

TEST_CASE("mass_sum: single masses are right near the least one, near 1 and where nothing is left") {
  for (const auto& variant : LANNER_VARIANTS(MassSumFn, mass_sum)) {
    CAPTURE(variant.name());
    for (float value : {0.0F, -0x1p-24F, -1e-30F, -31.1F, -31.19999F, -31.2F, -31.20001F, -40.0F, -800.0F,
                        -3e38F, -kInfinity}) {
      std::vector<float> values(64, -kInfinity);
      values[17] = value;
      CHECK(variant.run(values, 0) == integer_mass(double(value)));
    }
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const std::vector<float> values = random_uniform(64, seed, -31.3F, 0);
      std::uint64_t want = 0;
      for (float value : values) want += integer_mass(double(value));
      CHECK(variant.run(values, 0) == want);
    }
  }
}
