// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <cstdint>
#include <exception>
#include <vector>

namespace lanner::cli {

/// What a shell shows for a program that the signal ended: 130 after Ctrl-C, 143 after SIGTERM.
constexpr int exit_code_after(int signal) { return 128 + signal; }

/// Thrown out of long work after a signal, so that half-written files go away.
class Interrupted final : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  const char* what() const noexcept override { return "interrupted"; }
  int exit_code() const { return exit_code_after(signal_); }

 private:
  int signal_;
};

/// Which signals a watch notes; all others do what they did.
enum class WatchedSignals : std::uint8_t {
  kCtrlC,     ///< SIGINT
  kAnyEnding  ///< SIGTERM and SIGHUP too: for work that has files to take away
};

/// While one exists, its signals are noted instead of ending the program. System calls that wait return
/// early. One within another knows of what the outer one noted.
class InterruptWatch {
 public:
  explicit InterruptWatch(WatchedSignals signals = WatchedSignals::kCtrlC);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// True when a signal came since construction or clear().
  bool raised() const;
  void clear();
  /// Throws Interrupted when a signal came.
  void check() const;

 private:
  struct Replaced {
    int signal;
    struct sigaction action;
  };

  std::vector<Replaced> replaced_;
};

}  // namespace lanner::cli
