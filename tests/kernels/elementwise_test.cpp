// SPDX-License-Identifier: MIT
#include "kernels/activation/elementwise.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "compare.h"
#include "guarded.h"
#include "kernels/variants.h"
#include "random.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

constexpr double kUlp = 0x1p-23;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kSizes[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1001};

// Every 9973rd float from -largest to largest, and the ends.
std::vector<float> sampled_floats(float largest) {
  std::vector<float> values = {0.0F, -0.0F, largest, -largest};
  const std::uint32_t end = std::bit_cast<std::uint32_t>(largest);
  for (std::uint32_t bits = 1; bits < end; bits += 9973) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-values.back());
  }
  return values;
}

// Largest |got - want| in units of the last place of want; below the normal range in its absolute ulp.
double max_ulp_error(std::span<const float> got, std::span<const double> want) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (double(got[i]) == want[i]) continue;
    int exponent = 0;
    std::frexp(want[i], &exponent);
    const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
    worst = std::max(worst, std::abs(double(got[i]) - want[i]) / ulp);
  }
  return worst;
}

template <typename Function>
std::vector<double> map(const std::vector<float>& x, Function f) {
  std::vector<double> y;
  y.reserve(x.size());
  for (float value : x) y.push_back(f(double(value)));
  return y;
}

}  // namespace

TEST_CASE("elementwise: every variant of every two-input function matches the reference at any length") {
  struct Family {
    const char* name;
    std::vector<Variant<AddFn>> variants;
    double tolerance;
  };
  const Family families[] = {
      {"add", LANNER_VARIANTS(AddFn, add), 0},
      // The exponent 2u of the gelu grows with |x| <= 6: 2u < 25, so its rounding costs up to 25 * 2 ulp.
      {"gelu_mul", LANNER_VARIANTS(GeluMulFn, gelu_mul), 60 * kUlp},
      {"silu_mul", LANNER_VARIANTS(SiluMulFn, silu_mul), 5 * kUlp},
      {"sigmoid_mul", LANNER_VARIANTS(SigmoidMulFn, sigmoid_mul), 5 * kUlp},
  };
  for (const Family& family : families)
    for (const auto& variant : family.variants)
      for (std::size_t size : kSizes)
        for (std::size_t offset : {0, 1, 3}) {
          CAPTURE(family.name);
          CAPTURE(variant.name());
          CAPTURE(size);
          const auto memory = random_uniform(size + offset, 21, -6, 6);
          const auto a = std::span(memory).subspan(offset);
          const auto b = random_normal(size, 22);
          std::vector<float> want(size);
          Guarded<float> got(size, offset);
          family.variants.front().run(want, a, b);
          variant.run(got, a, b);
          CHECK(max_relative_error(got, want) <= family.tolerance);
          CHECK(got.guards_intact());
        }
}

TEST_CASE("scale and softcap: every variant matches the reference at any length") {
  for (std::size_t size : kSizes) {
    CAPTURE(size);
    const auto x = random_uniform(size, 23, -90, 90);
    std::vector<float> want(size);
    scale_reference(want, x, 0.73F);
    for (const auto& variant : LANNER_VARIANTS(ScaleFn, scale)) {
      CAPTURE(variant.name());
      Guarded<float> got(size, 1);
      variant.run(got, x, 0.73F);
      CHECK(same_bits(got, want));
      CHECK(got.guards_intact());
    }
    softcap_reference(want, x, 30.0F);
    for (const auto& variant : LANNER_VARIANTS(SoftcapFn, softcap)) {
      CAPTURE(variant.name());
      Guarded<float> got(size, 1);
      variant.run(got, x, 30.0F);
      CHECK(max_relative_error(got, want) <= 4 * kUlp);
      CHECK(got.guards_intact());
    }
  }
}

TEST_CASE("tanh is within 2 ulp over all floats") {
  const auto x = sampled_floats(std::numeric_limits<float>::max());
  const auto want = map(x, [](double v) { return std::tanh(v); });
  for (const auto& variant : LANNER_VARIANTS(SoftcapFn, softcap)) {
    CAPTURE(variant.name());
    std::vector<float> got(x.size());
    variant.run(got, x, 1.0F);
    CHECK(max_ulp_error(got, want) <= 2);
  }
}

TEST_CASE("sigmoid is within 3 ulp over all floats, so e^x is within 2 where 1 + e^x rounds to 1") {
  const auto x = sampled_floats(std::numeric_limits<float>::max());
  const std::vector<float> ones(x.size(), 1.0F);
  const auto want = map(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  std::vector<float> small;
  for (float value : x)
    if (value < -17 && value > -std::numeric_limits<float>::max()) small.push_back(value);
  const auto want_exp = map(small, [](double v) { return std::exp(v); });
  for (const auto& variant : LANNER_VARIANTS(SigmoidMulFn, sigmoid_mul)) {
    CAPTURE(variant.name());
    std::vector<float> got(x.size());
    variant.run(got, ones, x);
    CHECK(max_ulp_error(got, want) <= 3);
    std::vector<float> got_exp(small.size());
    variant.run(got_exp, std::vector<float>(small.size(), 1.0F), small);
    CHECK(max_ulp_error(got_exp, want_exp) <= 2);
  }
}

TEST_CASE("activations have no NaN at infinities and huge inputs") {
  const std::vector<float> x = {-kInfinity, -3e38F, -1e30F, -100.0F, 100.0F, 1e30F, 3e38F, kInfinity};
  const std::vector<float> ones(x.size(), 1.0F);
  for (const auto& variant : LANNER_VARIANTS(SiluMulFn, silu_mul)) {
    if (variant.isa == Isa::kReference) continue;  // the plain formula
    CAPTURE(variant.name());
    std::vector<float> got(x.size());
    variant.run(got, x, ones);
    for (std::size_t i = 0; i < 3; ++i) CHECK(got[i] == 0);
    for (std::size_t i = 4; i < x.size(); ++i) CHECK(got[i] == x[i]);
  }
  for (const auto& variant : LANNER_VARIANTS(GeluMulFn, gelu_mul)) {
    if (variant.isa == Isa::kReference) continue;
    CAPTURE(variant.name());
    std::vector<float> got(x.size());
    variant.run(got, x, ones);
    for (std::size_t i = 0; i < 4; ++i) CHECK(got[i] == 0);
    for (std::size_t i = 4; i < x.size(); ++i) CHECK(got[i] == x[i]);
  }
  for (const auto& variant : LANNER_VARIANTS(SoftcapFn, softcap)) {
    CAPTURE(variant.name());
    std::vector<float> got(x.size());
    variant.run(got, x, 30.0F);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(got[i]) <= 30.0F);
  }
}

TEST_CASE("activations pass NaN on") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x(9, nan);
  const std::vector<float> ones(9, 1.0F);
  for (const auto& variant : LANNER_VARIANTS(SiluMulFn, silu_mul)) {
    CAPTURE(variant.name());
    std::vector<float> got(9);
    variant.run(got, x, ones);
    for (float value : got) CHECK(std::isnan(value));
  }
  for (const auto& variant : LANNER_VARIANTS(SoftcapFn, softcap)) {
    CAPTURE(variant.name());
    std::vector<float> got(9);
    variant.run(got, x, 30.0F);
    for (float value : got) CHECK(std::isnan(value));
  }
}

TEST_CASE("elementwise: an element's bits do not depend on its place, and out may be an input") {
  const auto a = random_uniform(67, 24, -20, 20);
  const auto b = random_normal(67, 25);
  const auto check = [&](const auto& variant) {
    CAPTURE(variant.name());
    std::vector<float> all = a;
    variant.run(all, all, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::vector<float> alone(1);
      variant.run(alone, std::span(a).subspan(i, 1), std::span(b).subspan(i, 1));
      CHECK(std::bit_cast<std::uint32_t>(alone[0]) == std::bit_cast<std::uint32_t>(all[i]));
    }
  };
  for (const auto& variant : LANNER_VARIANTS(AddFn, add)) check(variant);
  for (const auto& variant : LANNER_VARIANTS(GeluMulFn, gelu_mul)) check(variant);
  for (const auto& variant : LANNER_VARIANTS(SiluMulFn, silu_mul)) check(variant);
  for (const auto& variant : LANNER_VARIANTS(SigmoidMulFn, sigmoid_mul)) check(variant);
}
