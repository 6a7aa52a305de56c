// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/interrupt.h"
#include "cli/line_reader.h"

namespace lanner::cli {

/// Lines typed at a terminal, with editing, UTF-8 and a history that outlives the program. The prompt goes to
/// standard error. Uses libedit.
class EditLineReader final : public LineReader {
 public:
  /// `history_file` is created with its folder when it can be; without one the history ends with the program.
  /// The watch must outlive the reader, which clears it when a line is interrupted.
  EditLineReader(std::optional<std::filesystem::path> history_file, InterruptWatch& watch);
  ~EditLineReader() override;

  Line read(const std::string& prompt) override;
  /// Keeps a whole message for the up arrow.
  void remember(const std::string& message);

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;
};

}  // namespace lanner::cli
