// SPDX-License-Identifier: MIT
#include "io/folder_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "io/file_error.h"
#include "io/message_text.h"

namespace lanner::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGgufAdvice =
    "lanner reads safetensors checkpoints; get the model's original or MLX folder instead";

/// The error for a path that is a file where a checkpoint folder was expected.
Error file_given_error(const fs::path& path) {
  const std::string where = printable(path.native());
  const fs::path extension = path.extension();
  if (extension == ".gguf") {
    return {ErrorKind::kUnsupported, fmt::format("{}: is a GGUF file; {}", where, kGgufAdvice)};
  }
  if (extension == ".safetensors" || extension == ".json") {
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    return {ErrorKind::kInvalidArgument,
            fmt::format("{}: is a file, expected its folder; give {}", where, printable(parent.native()))};
  }
  return {ErrorKind::kInvalidArgument, fmt::format("{}: is a file, expected a checkpoint folder", where)};
}

}  // namespace

FolderListing::FolderListing(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (error) throw file_error(folder, "open", error.value());
  if (!fs::is_directory(status)) throw file_given_error(folder);
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    names_.push_back(entry->path().filename().native());
    entry.increment(error);
  }
  if (error) throw file_error(folder, "list the folder", error.value());
  std::sort(names_.begin(), names_.end());
}

bool FolderListing::has(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

std::vector<std::string> FolderListing::ending_with(std::string_view suffix) const {
  std::vector<std::string> found;
  std::copy_if(names_.begin(), names_.end(), std::back_inserter(found),
               [&](const std::string& name) { return name.ends_with(suffix); });
  return found;
}

Error FolderListing::no_config_error() const {
  const std::string where = printable(folder_.native());
  const std::vector<std::string> gguf = ending_with(".gguf");
  if (has("adapter_config.json")) {
    return {
        ErrorKind::kInvalidArgument,
        fmt::format("{}: holds an adapter (adapter_config.json), expected a model (config.json); give its "
                    "base model's folder",
                    where)};
  }
  if (!gguf.empty()) {
    return {ErrorKind::kUnsupported, fmt::format("{}: holds a GGUF file ({}) and no config.json; {}", where,
                                                 printable(gguf[0]), kGgufAdvice)};
  }
  if (has("snapshots") && has("refs")) {
    return {
        ErrorKind::kInvalidArgument,
        fmt::format("{}: is a Hugging Face cache entry, expected one of its snapshots; give the model's id "
                    "(org/name) or a folder under {}",
                    where, printable((folder_ / "snapshots").native()))};
  }
  if (!ending_with(".safetensors").empty()) {
    return {ErrorKind::kNotFound,
            fmt::format("{}: has weights but no config.json; copy the model's config.json into it", where)};
  }
  return {
      ErrorKind::kNotFound,
      fmt::format("{}: {}, expected a checkpoint folder with config.json, *.safetensors and tokenizer.json",
                  where, names_.empty() ? "is empty" : "has no config.json")};
}

Error FolderListing::no_weights_error() const {
  const std::string where = printable(folder_.native());
  std::vector<std::string> pickles = ending_with(".bin");
  for (std::string_view suffix : {".pt", ".pth"}) {
    for (std::string& name : ending_with(suffix)) pickles.push_back(std::move(name));
  }
  if (!pickles.empty()) {
    return {
        ErrorKind::kUnsupported,
        fmt::format("{}: weights are PyTorch pickles ({}), expected safetensors; get the model's safetensors "
                    "files or convert them with save_pretrained",
                    where, printable(pickles[0]))};
  }
  if (const std::vector<std::string> gguf = ending_with(".gguf"); !gguf.empty()) {
    return {ErrorKind::kUnsupported,
            fmt::format("{}: weights are a GGUF file ({}); {}", where, printable(gguf[0]), kGgufAdvice)};
  }
  const std::vector<std::string> others = ending_with(".safetensors");
  const std::string found = others.empty() ? "no weights" : fmt::format("only {}", printable(others[0]));
  return {
      ErrorKind::kNotFound,
      fmt::format("{}: holds {}, expected model.safetensors or shards with model.safetensors.index.json; the "
                  "download may be incomplete",
                  where, found)};
}

}  // namespace lanner::io
