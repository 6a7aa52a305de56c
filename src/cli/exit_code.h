// SPDX-License-Identifier: MIT
#pragma once

#include "core/error.h"

namespace lanner::cli {

/// What the program tells its caller; see docs/commands.md.
inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 2;           ///< the command line is wrong
inline constexpr int kExitNotFound = 3;        ///< a file or folder is missing, unreadable or unwritable
inline constexpr int kExitBadCheckpoint = 4;   ///< a file contradicts its format, or lanner does not run it
inline constexpr int kExitInvalidRequest = 5;  ///< the model cannot do what was asked
inline constexpr int kExitOutOfMemory = 6;
inline constexpr int kExitInternal = 70;  ///< a fault in lanner itself
inline constexpr int kExitInterrupted = 130;

int exit_code_of(ErrorKind kind);

/// The list above for the end of every help text.
inline constexpr const char* kExitCodeHelp =
    "Exit codes: 0 done; 2 wrong command line; 3 file not found or not readable or writable; 4 broken or\n"
    "unsupported checkpoint; 5 request the model cannot serve; 6 out of memory; 70 fault in lanner;\n"
    "130 interrupted.";

}  // namespace lanner::cli
