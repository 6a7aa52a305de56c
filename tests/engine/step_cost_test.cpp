// SPDX-License-Identifier: MIT
#include "engine/step_cost.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>

using lanner::engine::StepCost;

namespace {

constexpr double kBudgetMs = 50;
constexpr double kPlannedMs = 42.5;
constexpr std::size_t kStreams = 3;

/// What a step of some rows takes on a machine `slowness` times slower than usual.
double true_ms(std::size_t rows, double slowness = 1) {
  return slowness * (7 + 0.8 * static_cast<double>(rows));
}

/// The rows of a prompt that fit into the budget beside the streams, as the scheduler asks for them.
std::size_t planned_rows(const StepCost& cost) {
  std::size_t share = 512;
  while (share > 8 && cost.predict_ms(kStreams + share) > kPlannedMs) share -= 8;
  return kStreams + share;
}

/// The longest of `steps` planned steps.
double longest_ms(StepCost& cost, std::size_t steps, double slowness = 1) {
  double longest = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t rows = planned_rows(cost);
    const double ms = true_ms(rows, slowness);
    cost.add(rows, ms);
    longest = std::max(longest, ms);
  }
  return longest;
}

StepCost after_decoding() {
  StepCost cost;
  for (std::size_t i = 0; i < 40; ++i) cost.add(kStreams, true_ms(kStreams));
  return cost;
}

}  // namespace

TEST_CASE("nothing is predicted before a step was measured") { CHECK(StepCost().predict_ms(8) == 0); }

TEST_CASE("a line through the measured steps predicts others") {
  StepCost cost;
  for (std::size_t rows = 1; rows <= 64; ++rows) cost.add(rows, true_ms(rows));
  CHECK(cost.predict_ms(100) == doctest::Approx(true_ms(100)));
}

TEST_CASE("prompts beside streams fill the budget soon and never pass it") {
  StepCost cost = after_decoding();
  CHECK(longest_ms(cost, 20) <= kBudgetMs);
  CHECK(true_ms(planned_rows(cost)) > 0.8 * kPlannedMs);
}

TEST_CASE("first steps that found their memory slowly do not keep prompts small") {
  StepCost cost;
  for (int i = 0; i < 3; ++i) cost.add(64, 4 * true_ms(64));
  for (std::size_t i = 0; i < 40; ++i) cost.add(kStreams, true_ms(kStreams));
  CHECK(longest_ms(cost, 20) <= kBudgetMs);
  CHECK(true_ms(planned_rows(cost)) > 0.8 * kPlannedMs);
}

TEST_CASE("one late step is forgotten within ten") {
  StepCost cost = after_decoding();
  longest_ms(cost, 40);
  cost.add(planned_rows(cost), 10 * kBudgetMs);
  longest_ms(cost, 10);
  CHECK(true_ms(planned_rows(cost)) > 0.7 * kPlannedMs);
}

TEST_CASE("a machine that becomes slower is followed within ten steps") {
  StepCost cost = after_decoding();
  longest_ms(cost, 100);
  longest_ms(cost, 10, 1.5);
  CHECK(longest_ms(cost, 20, 1.5) <= kBudgetMs);
}
