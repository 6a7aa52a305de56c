// SPDX-License-Identifier: MIT
#include "kernels/linear/bf16_linear.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "core/float_convert.h"
#include "guarded.h"
#include "kernels/linear_cases.h"

namespace lanner::kernels {
namespace {

using test::Guarded;
using test::RandomWeight;

constexpr WeightSpec kBf16{WeightFormat::kDense, DType::kBF16, 16, 0};

/// The fast versions of this machine: none without BF16.
std::vector<Bf16Kernels> fast_versions() {
  std::vector<Bf16Kernels> all;
  for (const Isa isa : supported_isas())
    if (const Bf16Kernels kernels = find_bf16_kernels(isa); kernels.linear != nullptr) all.push_back(kernels);
  if (all.empty()) MESSAGE("skipped: this CPU lacks AVX512-BF16");
  return all;
}

std::vector<std::uint16_t> rounded(std::span<const float> x) {
  std::vector<std::uint16_t> to(x.size());
  round_bf16_reference(to.data(), x.data(), x.size());
  return to;
}

std::vector<float> product(const WeightView& w, Bf16LinearFn* linear, std::span<const std::uint16_t> x) {
  const std::size_t rows = x.size() / w.columns;
  std::vector<float> out(rows * w.rows, -1);
  linear(w, x.data(), out.data(), w.rows, rows);
  return out;
}

}  // namespace

TEST_CASE("bf16 products: the reference sums what the rounded rows times the weights are") {
  for (const std::size_t columns : {1, 31, 32, 33, 640}) {
    const RandomWeight weights(kBf16, 9, columns, 3);
    const auto x = rounded(test::random_normal(4 * columns, 5));
    const auto got = product(weights.view(), bf16_linear_reference, x);
    const auto* w = static_cast<const std::uint16_t*>(weights.view().data);
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t n = 0; n < 9; ++n) {
        double want = 0;
        double magnitude = 0;
        for (std::size_t k = 0; k < columns; ++k) {
          const double term = double(bf16_to_float(x[r * columns + k])) * bf16_to_float(w[n * columns + k]);
          want += term;
          magnitude += std::abs(term);
        }
        // A lane adds K/16 products, each once rounded, and four additions join the lanes.
        CHECK(std::abs(got[r * 9 + n] - want) <= (double(columns) / 16 + 6) * 0x1p-24 * magnitude);
      }
  }
}

TEST_CASE("bf16 products: every version gives the reference's bits at any size, for 1 to 64 rows") {
  for (const Bf16Kernels& kernels : fast_versions())
    for (const std::size_t columns : {1, 16, 31, 33, 96, 640})
      for (const std::size_t outputs : {1, 3, 4, 17, 64}) {
        CAPTURE(columns);
        CAPTURE(outputs);
        const RandomWeight weights(kBf16, outputs, columns, 3);
        const auto x = rounded(test::random_normal(64 * columns, 5));
        const auto want = product(weights.view(), bf16_linear_reference, x);
        for (std::size_t rows = 1; rows <= 64; ++rows) {
          const auto got = product(weights.view(), kernels.linear, std::span(x).first(rows * columns));
          CHECK(test::same_bits(got, std::span(want).first(got.size())));
        }
      }
}

TEST_CASE("bf16 products: a row's bits do not depend on where the outputs are cut into blocks") {
  constexpr std::size_t kColumns = 16384;  // few outputs fit a block
  const RandomWeight weights(kBf16, 37, kColumns, 3);
  const auto x = rounded(test::random_normal(8 * kColumns, 5));
  const auto want = product(weights.view(), bf16_linear_reference, x);
  for (const Bf16Kernels& kernels : fast_versions())
    CHECK(test::same_bits(product(weights.view(), kernels.linear, x), want));
}

TEST_CASE("bf16 products: numbers below the smallest normal one count as zeros, before and after") {
  // Denormal weights, denormal inputs, and products of normal ones that are denormal.
  const std::vector<float> weights = {0x1p-130F, 1.0F, 0x1p-70F, 0x1p-60F, -0x1p-70F, 0.5F, 0x1p-126F, 1.5F};
  const std::vector<float> inputs = {0x1p100F, 0x1p-130F, 0x1p-70F, 0x1p-66F,
                                     0x1p-60F, 2.0F,      0.5F,     -0x1p-126F};
  std::vector<std::uint16_t> w;
  for (int repeat = 0; repeat < 5; ++repeat)
    for (std::size_t i = 0; i < weights.size(); ++i)
      w.push_back(float_to_bf16(weights[(i + static_cast<std::size_t>(repeat)) % weights.size()]));
  std::vector<std::uint16_t> x;
  for (int repeat = 0; repeat < 5; ++repeat)
    for (const float input : inputs) x.push_back(float_to_bf16(input));
  const WeightView view{.spec = kBf16, .rows = 1, .columns = w.size(), .data = w.data()};
  const auto want = product(view, bf16_linear_reference, x);
  for (const Bf16Kernels& kernels : fast_versions())
    CHECK(test::same_bits(product(view, kernels.linear, x), want));
}

TEST_CASE("rows are rounded to the nearest bfloat16, ties to even, at any length") {
  std::vector<float> x = test::random_normal(67, 7);
  x[0] = 0x1.01p0F;   // a tie, down
  x[1] = 0x1.03p0F;   // a tie, up
  x[2] = -0x1p-127F;  // below the smallest normal number
  x[3] = std::numeric_limits<float>::infinity();
  const auto want = rounded(x);
  CHECK(bf16_to_float(want[0]) == 0x1.00p0F);
  CHECK(bf16_to_float(want[1]) == 0x1.04p0F);
  CHECK(want[2] == 0x8000);
  CHECK(bf16_to_float(want[3]) == x[3]);
  for (const Bf16Kernels& kernels : fast_versions())
    for (const std::size_t count : {1, 15, 16, 17, 67}) {
      Guarded<std::uint16_t> got(count);
      kernels.round(got.data(), x.data(), count);
      CHECK(std::equal(got.begin(), got.end(), want.begin()));
      CHECK(got.guards_intact());
    }
}

}  // namespace lanner::kernels
