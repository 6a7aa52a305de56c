// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_net.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compare.h"
#include "kernels/delta_net_case.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/variants.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

/// A delta-net version and its fold.
struct Version {
  Isa isa;
  DeltaNetFn* run;
  DeltaFoldFn* fold;
};

std::vector<Version> versions() {
  std::vector<Version> result;
  const auto folds = LANNER_VARIANTS(DeltaFoldFn, delta_fold);
  const auto runs = LANNER_VARIANTS(DeltaNetFn, delta_net);
  for (std::size_t i = 0; i < runs.size(); ++i) result.push_back({runs[i].isa, runs[i].run, folds[i].run});
  return result;
}

constexpr DeltaShape kShapes[] = {{2, 4, 128, 128}, {1, 1, 4, 3},         {2, 2, 17, 37},    {1, 3, 64, 72},
                                  {1, 2, 33, 8},    {2, 4, 128, 128, 32}, {1, 2, 20, 24, 16}};
constexpr DeltaStyle kMixed{.decay_low = -2, .correlation = 0};

// Per row: a sum over key_dim and up to 64 entries, each with a few roundings; errors of earlier rows come
// back through the entries and the state, damped by the decays and growing at most like a random walk.
double tolerance(const DeltaShape& shape, std::size_t rows) {
  return (double(shape.key_dim) / 2 + 64) * std::sqrt(double(rows)) * 0x1p-24;
}

}  // namespace

TEST_CASE("delta_net: reproduces the golden vector of six tokens") {
  constexpr std::size_t kRows = 6;
  constexpr std::size_t kKeyDim = 4;
  constexpr std::size_t kValueDim = 3;
  DeltaCase c({1, 1, kKeyDim, kValueDim}, kRows, kMixed);
  c.state.assign(kKeyDim * kValueDim, 0);
  std::vector<float> a(kRows);
  std::vector<float> b(kRows);
  for (std::size_t t = 0; t < kRows; ++t) {
    const double time = double(t);
    float* row = c.qkv.data() + t * c.stride;
    for (std::size_t d = 0; d < kKeyDim; ++d) {
      row[d] = float(std::sin(0.9 * time + 0.7 * double(d) + 0.1));
      row[kKeyDim + d] = float(std::cos(0.5 * time - 0.4 * double(d) + 0.2));
    }
    for (std::size_t d = 0; d < kValueDim; ++d)
      row[2 * kKeyDim + d] = float(std::sin(0.3 * time * double(d + 1) + 0.5));
    l2_norm_reference(std::span(row, kKeyDim), std::span(row, kKeyDim), kKeyDim, 1e-6F, 0.5F);
    l2_norm_reference(std::span(row + kKeyDim, kKeyDim), std::span(row + kKeyDim, kKeyDim), kKeyDim, 1e-6F,
                      1);
    a[t] = float(0.2 * time - 0.6);
    b[t] = float(0.4 * time - 1.0);
  }
  const float a_log = std::log(2.0F);
  const float dt_bias = 0.5F;
  delta_net_gates(c.beta.data(), c.log_decay.data(), b.data(), a.data(), &a_log, &dt_bias, kRows, 1);

  const float g[] = {-1.28879332F, -1.48879332F, -1.708710489F, -1.948153968F, -2.206372098F, -2.482307749F};
  const float beta[] = {0.268941421F, 0.354343694F, 0.450166003F, 0.549833997F, 0.645656306F, 0.731058579F};
  const float out[] = {0.052980045F,  0.052980045F,  0.052980045F,  0.119956207F,  0.146722356F,
                       0.161231916F,  -0.013555201F, -0.014573750F, -0.008629664F, -0.278467376F,
                       -0.214763745F, 0.006223253F,  0.006161619F,  -0.011542191F, -0.025217044F,
                       0.330719397F,  -0.122000040F, -0.346698081F};
  const float state[] = {-0.530521621F, 0.193679119F, 0.555250528F,  -0.376754127F,
                         0.146809389F,  0.398445584F, -0.163505442F, 0.076761684F,
                         0.178734843F,  0.075557158F, -0.005405002F, -0.069194199F};
  CHECK(max_relative_error(c.log_decay, g) <= 1e-6);
  CHECK(max_relative_error(c.beta, beta) <= 1e-6);
  for (const Version& version : versions()) {
    CAPTURE(lanner::name(version.isa));
    DeltaRun run(c);
    run.finish(version.run, version.fold, 4);
    CHECK(max_scaled_error(run.out, out) <= 1e-6);
    CHECK(max_scaled_error(run.folded(version.fold), state) <= 1e-6);
  }
}

TEST_CASE("delta_net: every version agrees with the token-by-token recurrence in double") {
  constexpr std::size_t kRows = 150;
  for (const DeltaShape& shape : kShapes)
    for (const DeltaStyle& style :
         {kMixed, DeltaStyle{-0.01F, 0}, DeltaStyle{-30, 0}, DeltaStyle{-0.05F, 0.9F}}) {
      const DeltaCase c(shape, kRows, style);
      const DeltaTruth truth = delta_recurrence(c);
      for (const Version& version : versions()) {
        CAPTURE(lanner::name(version.isa));
        CAPTURE(shape.key_dim);
        CAPTURE(shape.value_dim);
        CAPTURE(style.decay_low);
        CAPTURE(style.correlation);
        DeltaRun run(c);
        run.finish(version.run, version.fold, 64);
        CHECK(max_scaled_error(run.out, truth.out) <= tolerance(shape, kRows));
        CHECK(max_scaled_error(run.folded(version.fold), truth.state) <= tolerance(shape, kRows));
        CHECK(run.guards_intact());
      }
    }
}

TEST_CASE("delta_net: weak decays after a very strong one keep their precision") {
  const DeltaShape shape{1, 1, 32, 32};
  DeltaCase c(shape, 60, DeltaStyle{-0.01F, 0});
  c.log_decay[3] = -5000;
  const DeltaTruth truth = delta_recurrence(c);
  for (const Version& version : versions()) {
    CAPTURE(lanner::name(version.isa));
    DeltaRun run(c);
    run.finish(version.run, version.fold, 64);
    CHECK(max_scaled_error(run.out, truth.out) <= tolerance(shape, 60));
    CHECK(max_scaled_error(run.folded(version.fold), truth.state) <= tolerance(shape, 60));
  }
}

TEST_CASE("delta_net: rows in any cut into calls give the same bits") {
  constexpr std::size_t kRows = 140;
  for (const DeltaShape& shape : {kShapes[0], kShapes[2], kShapes[3], kShapes[5], kShapes[6]}) {
    const DeltaCase c(shape, kRows, kMixed);
    for (const Version& version : versions()) {
      CAPTURE(lanner::name(version.isa));
      CAPTURE(shape.value_dim);
      DeltaRun whole(c);
      whole.finish(version.run, version.fold, 64);
      for (std::size_t piece : {1, 2, 3, 4, 5, 6, 7, 13, 31, 63}) {
        CAPTURE(piece);
        DeltaRun pieces(c);
        pieces.finish(version.run, version.fold, piece);
        CHECK(same_bits(pieces.out, whole.out));
        CHECK(same_bits(pieces.state, whole.state));
        CHECK(same_bits(pieces.folded(version.fold), whole.folded(version.fold)));
      }
    }
  }
}

TEST_CASE("delta_net: every two-part cut of one chunk gives the same bits") {
  const DeltaShape shape{1, 2, 24, 40};
  const DeltaCase c(shape, 64, kMixed);
  for (const Version& version : versions()) {
    CAPTURE(lanner::name(version.isa));
    DeltaRun whole(c);
    whole.advance(version.run, 64, shape.value_heads);
    for (std::size_t cut = 1; cut < 64; ++cut) {
      CAPTURE(cut);
      DeltaRun parts(c);
      parts.advance(version.run, cut, shape.value_heads);
      parts.advance(version.run, 64 - cut, shape.value_heads);
      CHECK(same_bits(parts.out, whole.out));
      CHECK(same_bits(parts.values, whole.values));
    }
  }
}

TEST_CASE("delta_net: heads in any split give the same bits") {
  const DeltaShape shape{4, 8, 16, 24};
  const DeltaCase c(shape, 20, kMixed);
  for (const Version& version : versions()) {
    CAPTURE(lanner::name(version.isa));
    DeltaRun whole(c);
    whole.advance(version.run, 20, 8);
    for (std::size_t heads : {2, 4, 6}) {
      DeltaRun parts(c);
      parts.advance(version.run, 20, heads);
      CHECK(same_bits(parts.out, whole.out));
      CHECK(same_bits(parts.keys, whole.keys));
    }
  }
}

TEST_CASE("delta_net: taking rows back is forgetting their entries") {
  const DeltaShape shape{1, 2, 16, 16};
  const DeltaCase c(shape, 30, kMixed);
  for (const Version& version : versions()) {
    CAPTURE(lanner::name(version.isa));
    DeltaRun straight(c);
    straight.advance(version.run, 30, 2);
    DeltaRun rolled(c);
    rolled.advance(version.run, 20, 2);
    rolled.position = 12;
    rolled.advance(version.run, 18, 2);
    CHECK(same_bits(rolled.out, straight.out));
    CHECK(same_bits(rolled.folded(version.fold), straight.folded(version.fold)));
  }
}

TEST_CASE("delta_fold: may write over the state it reads") {
  const DeltaCase c(kShapes[0], 64, kMixed);
  for (const Version& version : versions()) {
    CAPTURE(lanner::name(version.isa));
    DeltaRun run(c);
    run.advance(version.run, 64, c.shape.value_heads);
    const auto apart = run.folded(version.fold);
    version.fold({.state = run.state.data(),
                  .out = run.state.data(),
                  .entry_keys = run.keys.data(),
                  .entry_values = run.values.data(),
                  .entry_decay = run.decays.data(),
                  .entries = 64,
                  .key_heads = c.shape.key_heads,
                  .value_heads = c.shape.value_heads,
                  .key_dim = c.shape.key_dim,
                  .value_dim = c.shape.value_dim,
                  .chunk = c.shape.chunk},
                 0, c.shape.value_heads);
    CHECK(same_bits(run.state, apart));
  }
}

TEST_CASE("delta_net_gates: in place, and softplus is the identity beyond 20") {
  std::vector<float> b = {0, 50, -50, 1};
  std::vector<float> a = {0, 30, -30, 2};
  const std::vector<float> a_log = {0, 0.5F};
  const std::vector<float> dt_bias = {0, 1};
  delta_net_gates(b.data(), a.data(), b.data(), a.data(), a_log.data(), dt_bias.data(), 2, 2);
  CHECK(b[0] == 0.5F);
  CHECK(b[1] == 1.0F);
  CHECK(b[2] == doctest::Approx(std::exp(-50.0)));
  CHECK(a[0] == doctest::Approx(-std::log(2.0)));
  CHECK(a[1] == doctest::Approx(-std::exp(0.5) * 31));
  CHECK(a[2] == doctest::Approx(-std::exp(-30.0)));
  CHECK(a[3] == doctest::Approx(-std::exp(0.5) * std::log1p(std::exp(3.0))));
}
