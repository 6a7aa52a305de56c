// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace lanner::cli {

/// What came of asking for a line.
enum class LineStatus : std::uint8_t {
  kLine,
  kEnd,          ///< end of input, Ctrl-D
  kInterrupted,  ///< Ctrl-C while typing
};

struct Line {
  LineStatus status = LineStatus::kEnd;
  std::string text = {};  ///< without line end; what was typed so far when interrupted
};

/// Where the user's lines come from.
class LineReader {
 public:
  virtual ~LineReader() = default;
  /// `prompt` stands before what a user types; sources that are no terminal leave it out.
  virtual Line read(const std::string& prompt) = 0;
};

/// Lines of a stream: a script.
class StreamLineReader final : public LineReader {
 public:
  explicit StreamLineReader(std::istream& in) : in_(in) {}
  Line read(const std::string& prompt) override;

 private:
  std::istream& in_;
};

/// The next message: one line, several joined by a backslash at their ends, or all lines between two lines
/// that are """ alone (text after the opening and before the closing marks counts too). A message is always
/// UTF-8; broken bytes become U+FFFD. kEnd only when nothing was read.
Line read_message(LineReader& reader, const std::string& prompt);

}  // namespace lanner::cli
