// SPDX-License-Identifier: MIT
#include "kernels/rope/rope.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "compare.h"
#include "guarded.h"
#include "kernels/variants.h"
#include "random.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

constexpr std::size_t kRows = 3;

// Default rotary, Gemma 4 proportional, Qwen partial, and odd sizes.
constexpr RopeShape kShapes[] = {
    {.heads = 4, .head_dim = 256, .frequencies = 128, .pair_offset = 128},
    {.heads = 2, .head_dim = 512, .frequencies = 64, .pair_offset = 256},
    {.heads = 3, .head_dim = 256, .frequencies = 32, .pair_offset = 32},
    {.heads = 5, .head_dim = 72, .frequencies = 36, .pair_offset = 36},
    {.heads = 1, .head_dim = 2, .frequencies = 1, .pair_offset = 1},
    {.heads = 2, .head_dim = 23, .frequencies = 7, .pair_offset = 11},
    {.heads = 2, .head_dim = 16, .frequencies = 0, .pair_offset = 8},
};

struct Tables {
  std::vector<float> cos;
  std::vector<float> sin;
};

Tables random_tables(std::size_t count) {
  Tables tables;
  for (float angle : random_uniform(count, 11, -3.0F, 3.0F)) {
    tables.cos.push_back(std::cos(angle));
    tables.sin.push_back(std::sin(angle));
  }
  return tables;
}

}  // namespace

TEST_CASE("rope: every variant matches the reference and leaves the other elements alone") {
  for (const auto& variant : LANNER_VARIANTS(RopeFn, rope))
    for (const RopeShape& shape : kShapes)
      for (std::size_t offset : {0, 1}) {
        CAPTURE(variant.name());
        CAPTURE(shape.head_dim);
        CAPTURE(shape.frequencies);
        const auto x = random_normal(kRows * shape.heads * shape.head_dim, 12);
        const Tables tables = random_tables(kRows * shape.frequencies);
        std::vector<float> want = x;
        rope_reference(want, tables.cos, tables.sin, shape);
        Guarded<float> got(x.size(), offset);
        std::copy(x.begin(), x.end(), got.begin());
        variant.run(got, tables.cos, tables.sin, shape);
        // Two products of at most the largest |x|, then their sum: three roundings.
        CHECK(max_scaled_error(got, want) <= 3 * 0x1p-24);
        CHECK(got.guards_intact());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t j = i % shape.head_dim;
          const bool rotated =
              j < shape.frequencies || (j >= shape.pair_offset && j < shape.pair_offset + shape.frequencies);
          if (!rotated) CHECK(got[i] == x[i]);
        }
      }
}

TEST_CASE("rope: rotating back restores the input") {
  for (const auto& variant : LANNER_VARIANTS(RopeFn, rope)) {
    CAPTURE(variant.name());
    const RopeShape& shape = kShapes[0];
    const auto x = random_normal(kRows * shape.heads * shape.head_dim, 13);
    Tables tables = random_tables(kRows * shape.frequencies);
    std::vector<float> turned = x;
    variant.run(turned, tables.cos, tables.sin, shape);
    for (float& value : tables.sin) value = -value;
    variant.run(turned, tables.cos, tables.sin, shape);
    CHECK(max_scaled_error(turned, x) <= 12 * 0x1p-24);  // two turns and the rounding of cos² + sin²
  }
}
