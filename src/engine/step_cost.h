// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lanner::engine {

/// Predicts how long a forward of some rows takes from the forwards measured lately: a line fitted by least
/// squares, older measurements counting less and less.
class StepCost {
 public:
  void add(std::size_t rows, double milliseconds);
  /// 0 before anything was measured.
  double predict_ms(std::size_t rows) const;

 private:
  double weight_ = 0;
  double rows_ = 0;
  double rows_squared_ = 0;
  double ms_ = 0;
  double rows_ms_ = 0;
};

}  // namespace lanner::engine
