// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <istream>
#include <ostream>

namespace lanner::cli {

/// What the three standard streams are connected to.
struct Terminal {
  bool in = false;      ///< standard input is a terminal
  bool out = false;     ///< standard output is a terminal
  bool log = false;     ///< standard error is a terminal
  bool colour = false;  ///< escape sequences are welcome where a terminal is
  std::size_t columns = 80;

  bool dims_output() const { return out && colour; }
};

/// The streams of a command: answers go to `out`, everything else to `log`.
struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& log;
  Terminal terminal;
};

/// Sends what `out` still holds. Throws Error kIo when the stream refuses it (full disk, closed pipe).
void flush_output(Console& console);

}  // namespace lanner::cli
