// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"
#include "io/safetensors_writer.h"
#include "io/temporary_folder.h"

namespace lanner::io {

/// A safetensors file of one-byte-per-element tensors, each [4], in `folder`; every byte is `fill`.
inline void write_shard(const TemporaryFolder& folder, std::string_view file,
                        const std::vector<std::string>& names, std::byte fill = std::byte{7}) {
  std::vector<TensorDeclaration> tensors;
  for (const std::string& name : names) tensors.push_back({name, DType::kU8, {4}});
  SafetensorsWriter writer(folder.path() / file, tensors, {{"format", "pt"}});
  const std::vector<std::byte> bytes(4, fill);
  for (const std::string& name : names) writer.append(name, bytes);
  writer.finish();
}

/// model.safetensors.index.json from (tensor, file) pairs.
inline void write_index(const TemporaryFolder& folder,
                        const std::vector<std::pair<std::string, std::string>>& entries) {
  Json map = Json::object();
  for (const auto& [tensor, file] : entries) map[tensor] = file;
  folder.write("model.safetensors.index.json",
               Json{{"metadata", {{"total_size", 0}}}, {"weight_map", map}}.dump());
}

}  // namespace lanner::io
