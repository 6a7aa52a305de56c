// SPDX-License-Identifier: MIT
#include "io/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/message_text.h"
#include "io/safetensors_file.h"

namespace lanner::io {
namespace {

Json load_config(const FolderListing& listing) {
  if (!listing.has("config.json")) throw listing.no_config_error();
  Json config = load_json(listing.folder() / "config.json");
  [[maybe_unused]] const Fields checked(config, "config.json");  // throws unless it is an object
  return config;
}

}  // namespace

Checkpoint::Checkpoint(const std::filesystem::path& folder)
    : listing_(folder),
      config_(load_config(listing_)),
      weights_(find_weight_files(listing_)),
      tensors_(open_weight_files(listing_, weights_)) {}

const TensorEntry* Checkpoint::find(std::string_view name) const { return find_tensor(tensors_, name); }

const TensorEntry& Checkpoint::require(std::string_view name) const {
  if (const TensorEntry* entry = find(name)) return *entry;
  std::string samples;
  for (std::size_t i = 0; i < std::min<std::size_t>(tensors_.size(), 3); ++i) {
    samples += (i == 0 ? ", such as " : ", ") + in_quotes(tensors_[i].name);
  }
  throw Error(ErrorKind::kCorrupt,
              fmt::format("{}: tensor {} is missing (the folder holds {} tensors{})",
                          printable(folder().native()), in_quotes(name), tensors_.size(), samples));
}

std::uint64_t Checkpoint::tensor_bytes() const {
  std::uint64_t total = 0;
  for (const TensorEntry& entry : tensors_) total += entry.bytes.size();
  return total;
}

std::optional<std::filesystem::path> Checkpoint::find_file(std::string_view name) const {
  if (!listing_.has(name)) return std::nullopt;
  return folder() / name;
}

std::filesystem::path Checkpoint::require_file(std::string_view name, std::string_view purpose) const {
  if (std::optional<std::filesystem::path> path = find_file(name)) return *path;
  throw Error(ErrorKind::kNotFound,
              fmt::format("{}: {} is missing, which is needed {}; copy it from the original model",
                          printable(folder().native()), printable(name), purpose));
}

std::optional<Json> Checkpoint::load_generation_config() const {
  const std::optional<std::filesystem::path> path = find_file("generation_config.json");
  if (!path) return std::nullopt;
  return load_json(*path);
}

std::optional<Json> Checkpoint::load_kv_config() const {
  const std::optional<std::filesystem::path> path = find_file("kv_config.json");
  if (!path) return std::nullopt;
  return load_json(*path);
}

}  // namespace lanner::io
