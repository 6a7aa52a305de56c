// SPDX-License-Identifier: MIT
#include "kernels/norm/rms_norm.h"

#include <doctest/doctest.h>

#include <cmath>

#include "compare.h"
#include "guarded.h"
#include "kernels/variants.h"
#include "random.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

constexpr float kEps = 1e-6F;
constexpr std::size_t kRows = 3;
constexpr std::size_t kDims[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 72, 100, 128, 255, 256, 1000, 2560};

// Half a sum of dim rounded squares, then eight roundings.
double tolerance(std::size_t dim) { return (double(dim) / 2 + 8) * 0x1p-24; }

}  // namespace

TEST_CASE("rms_norm: every variant matches the reference at any length and alignment") {
  for (const auto& variant : LANNER_VARIANTS(RmsNormFn, rms_norm))
    for (std::size_t dim : kDims)
      for (std::size_t offset : {0, 1, 3}) {
        CAPTURE(variant.name());
        CAPTURE(dim);
        CAPTURE(offset);
        const auto memory = random_normal(kRows * dim + offset, 1);
        const auto x = std::span(memory).subspan(offset);
        const auto w = random_normal(dim, 2);
        std::vector<float> want(kRows * dim);
        Guarded<float> got(kRows * dim, offset);
        rms_norm_reference(want, x, w, kEps);
        variant.run(got, x, w, kEps);
        CHECK(max_relative_error(got, want) <= tolerance(dim));
        CHECK(got.guards_intact());
      }
}

TEST_CASE("rms_norm_plain and l2_norm: every variant matches the reference") {
  for (std::size_t dim : kDims) {
    CAPTURE(dim);
    const auto x = random_normal(kRows * dim, 3);
    std::vector<float> want(kRows * dim);
    rms_norm_plain_reference(want, x, dim, kEps);
    for (const auto& variant : LANNER_VARIANTS(RmsNormPlainFn, rms_norm_plain)) {
      CAPTURE(variant.name());
      Guarded<float> got(kRows * dim, 1);
      variant.run(got, x, dim, kEps);
      CHECK(max_relative_error(got, want) <= tolerance(dim));
      CHECK(got.guards_intact());
    }
    const float scale = 1 / std::sqrt(float(dim));
    l2_norm_reference(want, x, dim, kEps, scale);
    for (const auto& variant : LANNER_VARIANTS(L2NormFn, l2_norm)) {
      CAPTURE(variant.name());
      Guarded<float> got(kRows * dim, 1);
      variant.run(got, x, dim, kEps, scale);
      CHECK(max_relative_error(got, want) <= tolerance(dim));
      CHECK(got.guards_intact());
    }
  }
}

TEST_CASE("gated_rms_norm: every variant matches the reference") {
  for (const auto& variant : LANNER_VARIANTS(GatedRmsNormFn, gated_rms_norm))
    for (std::size_t dim : kDims) {
      CAPTURE(variant.name());
      CAPTURE(dim);
      const auto x = random_normal(kRows * dim, 4);
      const auto z = random_uniform(kRows * dim, 5, -12, 12);
      const auto w = random_normal(dim, 6);
      std::vector<float> want(kRows * dim);
      Guarded<float> got(kRows * dim, 1);
      gated_rms_norm_reference(want, x, z, w, kEps);
      variant.run(got, x, z, w, kEps);
      CHECK(max_relative_error(got, want) <= tolerance(dim) + 8 * 0x1p-24);  // and the silu
      CHECK(got.guards_intact());
    }
}

TEST_CASE("norms: a row's bits do not depend on the other rows, and out may be x") {
  constexpr std::size_t kDim = 77;
  constexpr std::size_t kMany = 9;
  const auto x = random_normal(kMany * kDim, 7);
  const auto z = random_normal(kMany * kDim, 8);
  const auto w = random_normal(kDim, 9);
  const auto row = [&](const std::vector<float>& m, std::size_t r) {
    return std::span(m).subspan(r * kDim, kDim);
  };
  for (const auto& variant : LANNER_VARIANTS(RmsNormFn, rms_norm)) {
    CAPTURE(variant.name());
    std::vector<float> all = x;
    variant.run(all, all, w, kEps);
    for (std::size_t r = 0; r < kMany; ++r) {
      std::vector<float> alone(kDim);
      variant.run(alone, row(x, r), w, kEps);
      CHECK(same_bits(alone, row(all, r)));
    }
  }
  for (const auto& variant : LANNER_VARIANTS(GatedRmsNormFn, gated_rms_norm)) {
    CAPTURE(variant.name());
    std::vector<float> all = x;
    variant.run(all, all, z, w, kEps);
    for (std::size_t r = 0; r < kMany; ++r) {
      std::vector<float> alone(kDim);
      variant.run(alone, row(x, r), row(z, r), w, kEps);
      CHECK(same_bits(alone, row(all, r)));
    }
  }
  for (const auto& variant : LANNER_VARIANTS(L2NormFn, l2_norm)) {
    CAPTURE(variant.name());
    std::vector<float> all = x;
    variant.run(all, all, kDim, kEps, 0.5F);
    for (std::size_t r = 0; r < kMany; ++r) {
      std::vector<float> alone(kDim);
      variant.run(alone, row(x, r), kDim, kEps, 0.5F);
      CHECK(same_bits(alone, row(all, r)));
    }
  }
}

TEST_CASE("norms: a row of zeros gives zeros") {
  const std::vector<float> x(40, 0.0F);
  const std::vector<float> w(40, 1.0F);
  for (const auto& variant : LANNER_VARIANTS(RmsNormFn, rms_norm)) {
    CAPTURE(variant.name());
    Guarded<float> got(40);
    variant.run(got, x, w, kEps);
    CHECK(max_relative_error(got, x) == 0);
  }
}
