// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "cli/batch_request.h"
#include "io/file_descriptor.h"

namespace lanner::cli {

/// The file a batch writes, a line per finished request. Each line reaches the file in one piece, so a
/// program that is killed leaves whole lines and perhaps one torn, which the next run takes away. One writer
/// at a time: the file is locked.
class BatchOutput {
 public:
  /// Opens or makes the file. Throws Error kIo, kCorrupt when it holds something else than results, and
  /// kInvalidArgument while another batch writes it.
  explicit BatchOutput(const std::filesystem::path& file);
  ~BatchOutput();
  BatchOutput(const BatchOutput&) = delete;
  BatchOutput& operator=(const BatchOutput&) = delete;

  /// Whether the file held the line's result when it was opened.
  bool has(const BatchLine& line) const;
  /// Throws Error kIo.
  void append(const std::string& line);

 private:
  void read_result(std::string_view line, const std::string& where);

  std::filesystem::path file_;
  io::FileDescriptor descriptor_;
  std::set<std::string> custom_ids_;
  std::set<std::string> result_ids_;  ///< of lines without a custom_id
};

}  // namespace lanner::cli
