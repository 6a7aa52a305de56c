// SPDX-License-Identifier: MIT
#include "io/safetensors_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "io/message_text.h"
#include "io/safetensors_header.h"

namespace lanner::io {

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(std::make_shared<MappedFile>(path)) {
  const std::span<const std::byte> bytes = file_->bytes();
  SafetensorsHeader header = parse_safetensors_header(bytes, printable(path.filename().native()));
  metadata_ = std::move(header.metadata);
  tensors_.reserve(header.tensors.size());
  for (TensorRecord& record : header.tensors) {
    tensors_.push_back({.name = std::move(record.name),
                        .dtype = record.dtype,
                        .shape = record.shape,
                        .bytes = bytes.subspan(header.data_begin + record.begin, record.end - record.begin),
                        .file = file_});
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const { return find_tensor(tensors_, name); }

const TensorEntry& SafetensorsFile::require(std::string_view name) const {
  if (const TensorEntry* entry = find(name)) return *entry;
  throw Error(ErrorKind::kCorrupt, fmt::format("{}: tensor {} is missing",
                                               printable(path().filename().native()), in_quotes(name)));
}

const TensorEntry* find_tensor(const std::vector<TensorEntry>& sorted, std::string_view name) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const TensorEntry& entry, std::string_view key) { return entry.name < key; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

}  // namespace lanner::io
