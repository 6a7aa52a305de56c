// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/console.h"

namespace lanner::cli {

/// One line on a terminal that shows how far long work is; nothing in a pipe, and nothing for work of less
/// than half a second. The line is gone when the bar is.
class ProgressBar {
 public:
  ProgressBar(Console& console, std::string label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::size_t done, std::size_t total);
  /// Takes the line away; a later update() shows it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  std::string label_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_ = start_;
  bool visible_ = false;
};

/// "label  42% [########------------] 12 s left", at most `columns` wide; without room for a bar no bar.
std::string progress_line(const std::string& label, double fraction, double seconds_left,
                          std::size_t columns);

}  // namespace lanner::cli
