// SPDX-License-Identifier: MIT
#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lanner::cli {
namespace {

constexpr auto kQuiet = std::chrono::milliseconds(500);
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr std::size_t kWidestBar = 30;
constexpr const char* kClearLine = "\r\x1b[K";

std::string readable_seconds(double seconds) {
  const long whole = std::lround(std::min(seconds, 1e6));
  if (whole < 100) return fmt::format("{} s left", whole);
  return fmt::format("{} min left", (whole + 30) / 60);
}

}  // namespace

std::string progress_line(const std::string& label, double fraction, double seconds_left,
                          std::size_t columns) {
  const std::string left = fmt::format("{} {:3.0f}% ", label, 100 * fraction);
  const std::string right = readable_seconds(seconds_left);
  const std::size_t text = left.size() + right.size() + 4;  // brackets, space, and the last column stays free
  if (text + 5 > columns) return left.substr(0, columns > 0 ? columns - 1 : 0);
  const std::size_t width = std::min(kWidestBar, columns - text);
  const auto filled = static_cast<std::size_t>(fraction * static_cast<double>(width));
  return fmt::format("{}[{}{}] {}", left, std::string(filled, '#'), std::string(width - filled, '-'), right);
}

ProgressBar::ProgressBar(Console& console, std::string label) : console_(console), label_(std::move(label)) {}

void ProgressBar::update(std::size_t done, std::size_t total) {
  if (!console_.terminal.log || total == 0) return;
  const auto now = Clock::now();
  if (now - start_ < kQuiet || (visible_ && now - drawn_ < kBetweenDraws)) return;
  const double fraction = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = fraction > 0 ? elapsed * (1 - fraction) / fraction : 0;
  console_.log << kClearLine << progress_line(label_, fraction, left, console_.terminal.columns)
               << std::flush;
  drawn_ = now;
  visible_ = true;
}

void ProgressBar::clear() {
  if (!visible_) return;
  console_.log << kClearLine << std::flush;
  visible_ = false;
}

}  // namespace lanner::cli
