// SPDX-License-Identifier: MIT
#include "engine/step_cost.h"

#include <algorithm>

namespace lanner::engine {
namespace {

constexpr double kCostMemory = 0.98;  // about 50 steps
constexpr double kLevelMemory = 0.8;  // about 5 steps
// A single step that waited for something, say for another program, is no new level.
constexpr double kMostSurprise = 2;

}  // namespace

void StepCost::add(std::size_t rows, double milliseconds) {
  const auto x = static_cast<double>(rows);
  if (const double line = line_ms(rows); line > 0)
    level_ =
        kLevelMemory * level_ + (1 - kLevelMemory) * std::min(milliseconds / line, kMostSurprise * level_);
  for (double* sum : {&weight_, &rows_, &rows_squared_, &ms_, &rows_ms_}) *sum *= kCostMemory;
  weight_ += 1;
  rows_ += x;
  rows_squared_ += x * x;
  ms_ += milliseconds;
  rows_ms_ += x * milliseconds;
}

double StepCost::line_ms(std::size_t rows) const {
  if (weight_ == 0) return 0;
  const auto x = static_cast<double>(rows);
  const double mean_rows = rows_ / weight_;
  const double mean_ms = ms_ / weight_;
  const double variance = rows_squared_ / weight_ - mean_rows * mean_rows;
  // With one size seen, larger steps are taken to cost in proportion: too careful rather than too late.
  if (variance < 1e-3 * mean_rows * mean_rows + 1e-9) return mean_ms * std::max(1.0, x / mean_rows);
  const double slope = std::max(0.0, (rows_ms_ / weight_ - mean_rows * mean_ms) / variance);
  return std::max(0.0, mean_ms + slope * (x - mean_rows));
}

}  // namespace lanner::engine
