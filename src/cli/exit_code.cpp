// SPDX-License-Identifier: MIT
#include "cli/exit_code.h"

namespace lanner::cli {

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return kExitInvalidRequest;
    case ErrorKind::kNotFound:
    case ErrorKind::kIo:
      return kExitNotFound;
    case ErrorKind::kCorrupt:
    case ErrorKind::kUnsupported:
      return kExitBadCheckpoint;
    case ErrorKind::kOutOfMemory:
      return kExitOutOfMemory;
    case ErrorKind::kInternal:
      break;
  }
  return kExitInternal;
}

}  // namespace lanner::cli
