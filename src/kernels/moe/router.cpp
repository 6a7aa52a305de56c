// SPDX-License-Identifier: MIT
#include "kernels/moe/router.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace lanner::kernels {
namespace {

// Keeps the k largest logits in descending order by insertion. A later expert displaces an earlier one only
// when strictly larger, so ties go to the lower id; a NaN displaces nothing.
void choose_experts(std::int32_t* experts, const float* logits, std::size_t n_experts, std::size_t k) {
  std::size_t chosen = 0;
  for (std::size_t id = 0; id < n_experts; ++id) {
    std::size_t place = chosen;
    while (place > 0 && logits[id] > logits[experts[place - 1]]) --place;
    if (place == k) continue;
    chosen = std::min(chosen + 1, k);
    std::move_backward(experts + place, experts + chosen - 1, experts + chosen);
    experts[place] = static_cast<std::int32_t>(id);
  }
}

}  // namespace

void route_top_k(std::int32_t* experts, float* weights, const float* logits, std::size_t rows,
                 std::size_t n_experts, std::size_t k) {
  assert(k > 0 && k <= n_experts);
  for (std::size_t row = 0; row < rows; ++row, experts += k, weights += k, logits += n_experts) {
    choose_experts(experts, logits, n_experts, k);
    const double largest = double(logits[experts[0]]);
    std::sort(experts, experts + k);
    double sum = 0;
    for (std::size_t i = 0; i < k; ++i) sum += std::exp(double(logits[experts[i]]) - largest);
    for (std::size_t i = 0; i < k; ++i)
      weights[i] = float(std::exp(double(logits[experts[i]]) - largest) / sum);
  }
}

}  // namespace lanner::kernels
