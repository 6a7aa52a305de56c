// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <set>
#include <string>

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

  /// custom_ids of the results the file held when it was opened.
  const std::set<std::string>& finished() const { return finished_; }
  /// Throws Error kIo.
  void append(const std::string& line);

 private:
  std::filesystem::path file_;
  io::FileDescriptor descriptor_;
  std::set<std::string> finished_;
};

}  // namespace lanner::cli
