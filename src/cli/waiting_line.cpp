// SPDX-License-Identifier: MIT
#include "cli/waiting_line.h"

#include <fmt/format.h>

#include <chrono>

namespace lanner::cli {

WaitingLine::WaitingLine(Console& console, std::string text) : console_(console), text_(std::move(text)) {
  if (console_.terminal.log) thread_ = std::thread([this] { show(); });
}

WaitingLine::~WaitingLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WaitingLine::show() {
  const auto start = std::chrono::steady_clock::now();
  bool visible = false;
  std::unique_lock lock(mutex_);
  for (auto wait = std::chrono::milliseconds(500); !wake_.wait_for(lock, wait, [this] { return done_; });
       wait = std::chrono::milliseconds(100)) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    console_.log << fmt::format("\r\x1b[K{} {:.1f} s", text_, elapsed.count()) << std::flush;
    visible = true;
  }
  if (visible) console_.log << "\r\x1b[K" << std::flush;
}

}  // namespace lanner::cli
