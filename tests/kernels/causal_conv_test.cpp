// SPDX-License-Identifier: MIT
#include "kernels/delta_net/causal_conv.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "compare.h"
#include "guarded.h"
#include "kernels/variants.h"
#include "random.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

struct Problem {
  std::size_t rows;
  std::size_t channels;
  std::size_t taps;
  std::vector<float> x = random_normal(rows * channels, 41);
  std::vector<float> history = random_normal((taps - 1) * channels, 42);
  std::vector<float> w = random_normal(taps * channels, 43);

  CausalConvArgs args(float* out) const {
    return {.x = x.data(),
            .history = history.data(),
            .w = w.data(),
            .out = out,
            .rows = rows,
            .channels = channels,
            .taps = taps};
  }
};

}  // namespace

TEST_CASE("causal_conv: every variant matches the reference over rows, channels, taps and ranges") {
  for (const auto& variant : LANNER_VARIANTS(CausalConvFn, causal_conv))
    for (std::size_t rows : {1, 2, 3, 7})
      for (std::size_t channels : {1, 5, 16, 37, 600})
        for (std::size_t taps : {1, 2, 4, 8}) {
          CAPTURE(variant.name());
          CAPTURE(rows);
          CAPTURE(channels);
          CAPTURE(taps);
          const Problem problem{.rows = rows, .channels = channels, .taps = taps};
          std::vector<float> want(rows * channels);
          causal_conv_reference(problem.args(want.data()), 0, channels);
          Guarded<float> got(rows * channels, 1);
          const std::size_t middle = channels / 3;
          variant.run(problem.args(got.data()), 0, middle);
          variant.run(problem.args(got.data()), middle, channels);
          // A sum of `taps` products may cancel; silu keeps its absolute error and adds a few roundings.
          CHECK(max_scaled_error(got, want) <= (double(taps) + 6) * 0x1p-23);
          CHECK(got.guards_intact());
        }
}

TEST_CASE("causal_conv: rows in any cut and channels in any cut give the same bits") {
  constexpr std::size_t kRows = 9;
  constexpr std::size_t kChannels = 45;
  constexpr std::size_t kTaps = 4;
  const Problem problem{.rows = kRows, .channels = kChannels, .taps = kTaps};
  // Rows of [history; x], from which any cut takes its own history.
  std::vector<float> all = problem.history;
  all.insert(all.end(), problem.x.begin(), problem.x.end());
  for (const auto& variant : LANNER_VARIANTS(CausalConvFn, causal_conv)) {
    CAPTURE(variant.name());
    std::vector<float> whole(kRows * kChannels);
    variant.run(problem.args(whole.data()), 0, kChannels);
    for (std::size_t cut = 1; cut < kRows; ++cut) {
      CAPTURE(cut);
      std::vector<float> pieces(kRows * kChannels);
      CausalConvArgs args = problem.args(pieces.data());
      args.rows = cut;
      variant.run(args, 0, kChannels);
      args.rows = kRows - cut;
      args.history = all.data() + cut * kChannels;
      args.x = problem.x.data() + cut * kChannels;
      args.out = pieces.data() + cut * kChannels;
      for (std::size_t channel = 0; channel < kChannels; channel += 7)
        variant.run(args, channel, std::min(channel + 7, kChannels));
      CHECK(same_bits(pieces, whole));
    }
  }
}
