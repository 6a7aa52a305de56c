// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lanner::quantize {

/// A folder that appears under its name complete or not at all: files go to a temporary neighbour that
/// publish() renames; without publish() it is removed.
class OutputFolder {
 public:
  /// Throws Error kInvalidArgument when `target` is `source`, a file, or a folder with anything in it; kIo.
  OutputFolder(const std::filesystem::path& target, const std::filesystem::path& source);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Throws Error kIo when the disk has clearly less room than this.
  void require_space(std::uint64_t size_bytes) const;
  std::filesystem::path file(const std::string& name) const { return temporary_ / name; }
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool published_ = false;
};

/// Names of the files of a model folder that a conversion carries over unchanged: tokenizer, templates,
/// generation config, processors, cards and licences (.json, .jinja, .model, .txt, .md, .tiktoken, .py,
/// LICENSE...) and side weights (mtp.safetensors, optiq_vision.safetensors); not config.json, indexes, hidden
/// files, folders.
std::vector<std::string> carried_files(const std::filesystem::path& folder);

/// Copies one file; throws Error kIo naming it.
void carry_file(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace lanner::quantize
