// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/fields.h"
#include "io/folder_listing.h"
#include "io/json.h"
#include "io/tensor_entry.h"
#include "io/weight_files.h"

namespace lanner::io {

/// A checkpoint folder as Hugging Face transformers or mlx-lm write it: config.json, safetensors weights,
/// tokenizer and template files. Weights stay mapped; entries (and copies of them) keep their file mapped on
/// their own, so they may outlive the Checkpoint. Opening reads config.json and the weight headers, nothing
/// else.
class Checkpoint {
 public:
  /// Throws Error when the folder is missing, not a checkpoint, incomplete or contradicts itself.
  explicit Checkpoint(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return listing_.folder(); }
  /// config.json; Fields read from it must not outlive the Checkpoint.
  const Json& config() const { return config_; }
  Fields config_fields() const { return {config_, "config.json"}; }

  /// Every tensor of the model, sorted by name.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// nullptr when absent.
  const TensorEntry* find(std::string_view name) const;
  /// Throws kCorrupt when absent, naming a few tensors that are there.
  const TensorEntry& require(std::string_view name) const;
  /// Bytes of all tensors together.
  std::uint64_t tensor_bytes() const;

  /// The safetensors files the model consists of, and the others at the folder's root (mtp.safetensors,
  /// optiq_vision.safetensors, leftovers), which are not opened: names only.
  const std::vector<std::string>& weight_files() const { return weights_.names; }
  const std::vector<std::string>& side_files() const { return weights_.side_files; }

  /// Path of another file of the folder ("tokenizer.json", "chat_template.jinja"), or nothing when absent.
  std::optional<std::filesystem::path> find_file(std::string_view name) const;
  /// Throws kNotFound when absent; `purpose` tells the user what it is needed for ("to turn text into
  /// tokens").
  std::filesystem::path require_file(std::string_view name, std::string_view purpose) const;
  /// generation_config.json, when there is one.
  std::optional<Json> load_generation_config() const;
  /// kv_config.json, when there is one.
  std::optional<Json> load_kv_config() const;

 private:
  FolderListing listing_;
  Json config_;
  WeightFiles weights_;
  std::vector<TensorEntry> tensors_;
};

}  // namespace lanner::io
