// SPDX-License-Identifier: MIT
#include "core/bucket_counts.h"

#include <doctest/doctest.h>

#include <vector>

namespace lanner {

TEST_CASE("a bucket holds its bound, the last one what exceeds all bounds") {
  static constexpr std::array kBounds = {1.0, 2.0, 5.0};
  BucketCounts buckets(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 5.0, 6.0, 7.0}) buckets.add(value);
  const auto counts = buckets.counts();
  CHECK(std::vector<std::uint64_t>(counts.begin(), counts.end()) == std::vector<std::uint64_t>{2, 1, 1, 2});
  CHECK(buckets.sum() == 21);
  CHECK(buckets.total() == 6);
}

}  // namespace lanner
