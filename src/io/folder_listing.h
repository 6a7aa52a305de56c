// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lanner::io {

/// The names of what lies directly in a model folder, sorted. Throws Error when `folder` is not a readable
/// folder; a GGUF or weight file given in its place is named as such.
class FolderListing {
 public:
  explicit FolderListing(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;
  std::vector<std::string> ending_with(std::string_view suffix) const;

  /// Why a folder without config.json is no checkpoint, by what it holds instead, and what to do.
  Error no_config_error() const;
  /// The same for a folder with config.json whose weights are missing or of another format.
  Error no_weights_error() const;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;
};

}  // namespace lanner::io
