// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <exception>

namespace lanner::cli {

/// Thrown out of long work after Ctrl-C, so that half-written files go away; ends the program with
/// kExitInterrupted.
class Interrupted final : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// While one exists, Ctrl-C (SIGINT) is noted instead of ending the program. System calls that wait return
/// early. At most one at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// True when Ctrl-C came since construction or clear().
  bool raised() const;
  void clear();
  /// Throws Interrupted when Ctrl-C came.
  void check() const {
    if (raised()) throw Interrupted();
  }

 private:
  struct sigaction previous_ {};
};

}  // namespace lanner::cli
