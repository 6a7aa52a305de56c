// SPDX-License-Identifier: MIT
#include "cli/terminal_program.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace lanner::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

}  // namespace

TerminalProgram::TerminalProgram(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{LANNER_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::setenv("TERM", "xterm", 1);
  const winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  process_ = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process_ == 0) {
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  REQUIRE(process_ > 0);
  terminal_ = io::FileDescriptor(terminal);
}

TerminalProgram::~TerminalProgram() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void TerminalProgram::type(std::string_view keys) {
  CHECK(::write(terminal_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

std::optional<std::string> TerminalProgram::read_until(std::string_view text) {
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    if (const std::size_t at = unread_.find(text); at != std::string::npos) {
      std::string read = unread_.substr(0, at + text.size());
      unread_.erase(0, read.size());
      return read;
    }
    if (!read_some(deadline)) return std::nullopt;
  }
}

bool TerminalProgram::read_some(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd output{.fd = terminal_.get(), .events = POLLIN, .revents = 0};
  if (left.count() <= 0 || ::poll(&output, 1, static_cast<int>(left.count())) <= 0) return false;
  char bytes[4096];
  const ssize_t count = ::read(terminal_.get(), bytes, sizeof(bytes));  // fails when the program ended
  if (count > 0) unread_.append(bytes, static_cast<std::size_t>(count));
  return count > 0;
}

int TerminalProgram::wait() {
  const auto deadline = Clock::now() + kPatience;
  while (read_some(deadline)) {
  }
  if (Clock::now() >= deadline) return -1;
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lanner::test
