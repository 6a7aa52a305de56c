// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_descriptor.h"

namespace lanner::test {

/// The program in a terminal of its own, of 24 rows of 80 columns.
class TerminalProgram {
 public:
  explicit TerminalProgram(const std::vector<std::string>& arguments);
  ~TerminalProgram();
  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  /// Types `keys` in one go.
  void type(std::string_view keys);
  /// What appeared since the last call, up to and with `text`; nothing when it does not appear or the program
  /// ended.
  std::optional<std::string> read_until(std::string_view text);
  /// The exit code, 128 + signal when a signal ended it; -1 when it goes on.
  int wait();

 private:
  /// Takes in what the program writes; false when nothing more comes before `deadline`.
  bool read_some(std::chrono::steady_clock::time_point deadline);

  pid_t process_ = -1;
  io::FileDescriptor terminal_;
  std::string unread_;
};

}  // namespace lanner::test
