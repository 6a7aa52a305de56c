// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/folder_listing.h"
#include "io/tensor_entry.h"

namespace lanner::io {

inline constexpr std::string_view kIndexFileName = "model.safetensors.index.json";

/// Which of a folder's safetensors files hold the model.
struct WeightFiles {
  std::vector<std::string> names;            ///< Files of the model, sorted.
  std::map<std::string, std::string> index;  ///< Tensor name → file name; empty without an index file.
  std::vector<std::string> side_files;       ///< The folder's other *.safetensors, sorted.
};

/// With model.safetensors.index.json the index decides: only files it names count. Without one the model is
/// model.safetensors and whatever shards model-*.safetensors there are. Throws Error kCorrupt for a bad
/// index, an index entry that is not a plain file name of this folder, and missing shards (named, with the
/// number of tensors they hold); no_weights_error() when there is nothing.
WeightFiles find_weight_files(const FolderListing& listing);

/// Opens the files and joins their tensors, sorted by name. Throws Error kCorrupt for a tensor in two files,
/// or where index and files disagree.
std::vector<TensorEntry> open_weight_files(const FolderListing& listing, const WeightFiles& files);

}  // namespace lanner::io
