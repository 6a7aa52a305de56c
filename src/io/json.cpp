// SPDX-License-Identifier: MIT
#include "io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "io/corrupt.h"
#include "io/json_syntax.h"
#include "io/message_text.h"

namespace lanner::io {
namespace {

/// Offset of the first bracket that opens level kMaxJsonDepth + 1, or npos. Reads malformed text without
/// harm.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return i;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string text_position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {} (byte {})", line, before.size() - line_start + 1, before.size() + 1);
}

std::string syntax_complaint(std::string_view exception_text) {
  if (exception_text.starts_with('[')) {  // "[json.exception.parse_error.101] "
    exception_text.remove_prefix(std::min(exception_text.find("] ") + 2, exception_text.size()));
  }
  if (exception_text.starts_with("parse error at ")) {  // "parse error at line 1, column 2: "
    exception_text.remove_prefix(std::min(exception_text.find(": ") + 2, exception_text.size()));
  }
  return printable(exception_text);
}

Json parse_json(std::string_view text, std::string_view source) {
  if (is_lfs_pointer(text)) {
    throw_corrupt(source,
                  "is a git-lfs pointer, not the file itself; run \"git lfs pull\" or download the file");
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw_corrupt(source, "is empty, expected JSON");
  // The parser takes a zero byte for the end of the text and would ignore what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw_corrupt(source, fmt::format("{}: zero byte, expected JSON text", text_position(text, zero)));
  }
  if (const std::size_t deep = too_deep_at(text); deep != std::string_view::npos) {
    throw_corrupt(source, fmt::format("{}: arrays and objects are nested deeper than {} levels",
                                      text_position(text, deep), kMaxJsonDepth));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    throw_corrupt(source, fmt::format("{}: {}", text_position(text, offset), syntax_complaint(error.what())));
  } catch (const Json::exception& error) {  // a number too large for a double
    throw_corrupt(source, syntax_complaint(error.what()));
  }
}

Json load_json(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return parse_json(read_text_file(path, max_bytes), printable(path.filename().native()));
}

}  // namespace lanner::io
