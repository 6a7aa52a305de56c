// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <atomic>

namespace lanner::cli {
namespace {

/// A signal handler can reach nothing but static storage.
std::atomic<bool>& interrupted() {
  static constinit std::atomic<bool> flag{false};
  return flag;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupted() = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted() = true; };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_);
}

InterruptWatch::~InterruptWatch() { sigaction(SIGINT, &previous_, nullptr); }

bool InterruptWatch::raised() const { return interrupted(); }

void InterruptWatch::clear() { interrupted() = false; }

}  // namespace lanner::cli
