// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <doctest/doctest.h>

#include <csignal>

namespace lanner::test {
namespace {

using cli::Interrupted;
using cli::InterruptWatch;
using cli::WatchedSignals;

/// The exit code that a watch gives the program after a signal; 0 when the signal is not noted.
int exit_code_after(int signal, WatchedSignals signals) {
  const InterruptWatch watch(signals);
  std::raise(signal);
  try {
    watch.check();
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code();
  }
  return 0;
}

/// What a signal does now. The test program has handlers of its own.
void (*handler_of(int signal))(int) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

}  // namespace

TEST_CASE("Ctrl-C and a request to end let work take its files away, then end with 128 + signal") {
  CHECK(exit_code_after(SIGINT, WatchedSignals::kCtrlC) == 130);
  CHECK(exit_code_after(SIGINT, WatchedSignals::kAnyEnding) == 130);
  CHECK(exit_code_after(SIGTERM, WatchedSignals::kAnyEnding) == 143);
  CHECK(exit_code_after(SIGHUP, WatchedSignals::kAnyEnding) == 129);
}

TEST_CASE("a watch for Ctrl-C leaves other signals alone, and none outlives its watch") {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const auto before = handler_of(signal);
    const auto unchanged = [&] { return handler_of(signal) == before; };
    {
      const InterruptWatch watch;
      CHECK(unchanged() == (signal != SIGINT));
    }
    { const InterruptWatch watch(WatchedSignals::kAnyEnding); }
    CHECK(unchanged());
  }
}

TEST_CASE("a watch within another hears what the outer one noted, and leaves it watching") {
  const InterruptWatch outer;
  std::raise(SIGINT);
  {
    const InterruptWatch inner;
    CHECK(inner.raised());
  }
  CHECK(outer.raised());
  const auto watching = handler_of(SIGINT);
  { const InterruptWatch inner; }
  const bool unchanged = handler_of(SIGINT) == watching;
  CHECK(unchanged);
}

TEST_CASE("a program started with nohup goes on when its terminal is gone") {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  CHECK(exit_code_after(SIGHUP, WatchedSignals::kAnyEnding) == 0);
  std::signal(SIGHUP, before);
}

}  // namespace lanner::test
