// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/environment.h"

namespace lanner::cli {

/// The whole program but its process: parses the arguments (without the program's name), runs the command and
/// returns its exit code. Every failure becomes one line "lanner: error: ..." on console.log.
int run_program(const std::vector<std::string>& arguments, const Environment& environment, Console& console);

}  // namespace lanner::cli
