// SPDX-License-Identifier: MIT
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  // A reader that went away ends the program without a word, also when the parent ignored the signal.
  std::signal(SIGPIPE, SIG_DFL);
  std::ios::sync_with_stdio(false);
  lanner::cli::Console console{std::cin, std::cout, std::cerr, lanner::cli::detect_terminal()};
  return lanner::cli::run_program(std::vector<std::string>(argv + 1, argv + argc),
                                  lanner::cli::read_environment(), console);
}
