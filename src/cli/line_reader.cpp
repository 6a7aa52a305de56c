// SPDX-License-Identifier: MIT
#include "cli/line_reader.h"

#include <string_view>

#include "text/unicode.h"

namespace lanner::cli {
namespace {

constexpr std::string_view kBlock = "\"\"\"";
constexpr const char* kContinued = ". ";

/// The rest of a block whose first line is already in `text`, without the closing marks.
Line read_block(LineReader& reader, std::string text) {
  for (;;) {
    if (text.ends_with(kBlock)) {
      text.resize(text.size() - kBlock.size());
      if (text.ends_with('\n')) text.pop_back();
      return {LineStatus::kLine, std::move(text)};
    }
    Line next = reader.read(kContinued);
    if (next.status == LineStatus::kInterrupted) return next;
    if (next.status == LineStatus::kEnd) return {LineStatus::kLine, std::move(text)};
    if (!text.empty()) text += '\n';
    text += next.text;
  }
}

Line read_continued(LineReader& reader, std::string text) {
  while (text.ends_with('\\')) {
    text.back() = '\n';
    Line next = reader.read(kContinued);
    if (next.status == LineStatus::kInterrupted) return next;
    if (next.status == LineStatus::kEnd) break;
    text += next.text;
  }
  return {LineStatus::kLine, std::move(text)};
}

}  // namespace

Line StreamLineReader::read(const std::string& /*prompt*/) {
  Line line;
  if (!std::getline(in_, line.text)) return {};
  if (line.text.ends_with('\r')) line.text.pop_back();
  line.status = LineStatus::kLine;
  return line;
}

Line read_message(LineReader& reader, const std::string& prompt) {
  Line line = reader.read(prompt);
  if (line.status != LineStatus::kLine) return line;
  line = line.text.starts_with(kBlock) ? read_block(reader, line.text.substr(kBlock.size()))
                                       : read_continued(reader, std::move(line.text));
  line.text = text::to_valid_utf8(line.text);
  return line;
}

}  // namespace lanner::cli
