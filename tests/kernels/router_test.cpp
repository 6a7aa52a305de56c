// SPDX-License-Identifier: MIT
#include "kernels/moe/router.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "random.h"

using namespace lanner::kernels;
using namespace lanner::test;

TEST_CASE("route_top_k: chooses and weighs like softmax over all experts, then top-k, then renormalise") {
  constexpr std::size_t kRows = 20;
  for (std::size_t n_experts : {1, 8, 128, 512})
    for (std::size_t k : {1, 2, 8, 10}) {
      if (k > n_experts) continue;
      CAPTURE(n_experts);
      CAPTURE(k);
      const auto logits = random_normal(kRows * n_experts, 31);
      std::vector<std::int32_t> experts(kRows * k);
      std::vector<float> weights(kRows * k);
      route_top_k(experts.data(), weights.data(), logits.data(), kRows, n_experts, k);
      for (std::size_t row = 0; row < kRows; ++row) {
        const float* l = logits.data() + row * n_experts;
        std::vector<std::int32_t> order(n_experts);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return l[a] > l[b]; });
        order.resize(k);
        std::sort(order.begin(), order.end());
        double chosen = 0;
        for (std::int32_t id : order) chosen += std::exp(double(l[id]));
        for (std::size_t i = 0; i < k; ++i) {
          CHECK(experts[row * k + i] == order[i]);
          const double want = std::exp(double(l[order[i]])) / chosen;
          CHECK(std::abs(double(weights[row * k + i]) - want) <= want * 0x1p-24);
        }
      }
    }
}

TEST_CASE("route_top_k: ties go to the lower id") {
  const std::vector<float> logits = {1, 3, 2, 3, 3, 2, 2, 0};
  std::vector<std::int32_t> experts(4);
  std::vector<float> weights(4);
  route_top_k(experts.data(), weights.data(), logits.data(), 1, 8, 4);
  CHECK(experts == std::vector<std::int32_t>{1, 2, 3, 4});
  CHECK(weights[0] == weights[2]);
  CHECK(weights[0] > weights[1]);
}

TEST_CASE("route_top_k: large logits do not overflow and NaN logits still give valid ids") {
  std::vector<float> logits = {-500, 800, 790, -1e30F};
  std::vector<std::int32_t> experts(2);
  std::vector<float> weights(2);
  route_top_k(experts.data(), weights.data(), logits.data(), 1, 4, 2);
  CHECK(experts == std::vector<std::int32_t>{1, 2});
  CHECK(weights[0] + weights[1] == doctest::Approx(1));
  for (float& value : logits) value = std::numeric_limits<float>::quiet_NaN();
  route_top_k(experts.data(), weights.data(), logits.data(), 1, 4, 2);
  CHECK(experts == std::vector<std::int32_t>{0, 1});
}
