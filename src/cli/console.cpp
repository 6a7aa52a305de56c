// SPDX-License-Identifier: MIT
#include "cli/console.h"

#include "core/error.h"

namespace lanner::cli {

void flush_output(Console& console) {
  console.out.flush();
  if (!console.out)
    throw Error(ErrorKind::kIo, "standard output could not be written; is the disk full or the pipe closed?");
}

}  // namespace lanner::cli
