// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lanner::engine {

/// Predicts how long a forward of some rows takes from the forwards measured lately: a line fitted by least
/// squares, older measurements counting less and less, times how the last few steps kept to it. The line
/// knows how cost grows with rows; the level follows a machine that changes, or a line that early steps bent,
/// at once.
class StepCost {
 public:
  void add(std::size_t rows, double milliseconds);
  /// 0 before anything was measured.
  double predict_ms(std::size_t rows) const { return level_ * line_ms(rows); }

 private:
  double line_ms(std::size_t rows) const;

  double level_ = 1;
  double weight_ = 0;
  double rows_ = 0;
  double rows_squared_ = 0;
  double ms_ = 0;
  double rows_ms_ = 0;
};

}  // namespace lanner::engine
