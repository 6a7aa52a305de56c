// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/console.h"

namespace lanner::cli {

/// Shows "text 1.2 s" on a terminal while work runs that cannot say how far it is, from half a second on.
/// Nothing in a pipe. The line is gone when the object is.
class WaitingLine {
 public:
  WaitingLine(Console& console, std::string text);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  void show();

  Console& console_;
  std::string text_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace lanner::cli
