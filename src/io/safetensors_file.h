// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include "io/tensor_entry.h"

namespace lanner::io {

/// A safetensors file, mapped and fully checked (see parse_safetensors_header). Copies share the mapping.
class SafetensorsFile {
 public:
  /// Throws Error as MappedFile and parse_safetensors_header do.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_->path(); }
  const std::shared_ptr<const MappedFile>& mapping() const { return file_; }
  /// Sorted by name.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// nullptr when absent.
  const TensorEntry* find(std::string_view name) const;
  /// Throws kCorrupt when absent.
  const TensorEntry& require(std::string_view name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Binary search in entries sorted by name; nullptr when absent.
const TensorEntry* find_tensor(const std::vector<TensorEntry>& sorted, std::string_view name);

}  // namespace lanner::io
