// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <atomic>

namespace lanner::cli {
namespace {

/// The signal that came, 0 for none. A signal handler can reach nothing but static storage.
std::atomic<int>& noted_signal() {
  static constinit std::atomic<int> signal{0};
  return signal;
}

void note(int signal) { noted_signal() = signal; }

bool is_watched(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == note;
}

}  // namespace

InterruptWatch::InterruptWatch(WatchedSignals signals) {
  if (!is_watched(SIGINT)) noted_signal() = 0;
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (signal != SIGINT && signals == WatchedSignals::kCtrlC) continue;
    Replaced replaced{.signal = signal, .action = {}};
    sigaction(signal, nullptr, &replaced.action);
    if (signal == SIGHUP && replaced.action.sa_handler == SIG_IGN) continue;  // started by nohup
    sigaction(signal, &action, nullptr);
    replaced_.push_back(replaced);
  }
}

InterruptWatch::~InterruptWatch() {
  for (const Replaced& replaced : replaced_) sigaction(replaced.signal, &replaced.action, nullptr);
}

bool InterruptWatch::raised() const { return noted_signal() != 0; }

void InterruptWatch::clear() { noted_signal() = 0; }

void InterruptWatch::check() const {
  if (const int signal = noted_signal()) throw Interrupted(signal);
}

}  // namespace lanner::cli
