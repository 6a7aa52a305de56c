// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/cli11_app.h"
#include "cli/console.h"

namespace lanner::cli {

/// Where a text comes from: -p TEXT, -f FILE, or standard input ("-", or a pipe when neither is given).
struct PromptSource {
  std::optional<std::string> text = {};
  std::optional<std::string> file = {};

  bool given() const { return text || file; }
};

/// Adds -p/--prompt and -f/--file.
void add_prompt_options(CLI::App& app, PromptSource& source);

/// Throws Error kInvalidArgument naming the text and its first byte that is not UTF-8.
void require_utf8(std::string_view text, std::string_view name);

/// The whole text as it is. Throws Error kInvalidArgument when there is no source but a terminal, or the text
/// is not UTF-8 (naming the byte); kNotFound and kIo for the file; kUnsupported for more than
/// io::kMaxTextBytes.
std::string read_text(const PromptSource& source, Console& console);

/// read_text() without one line end at the end of a file or of standard input.
std::string read_prompt(const PromptSource& source, Console& console);

}  // namespace lanner::cli
