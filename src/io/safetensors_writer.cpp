// SPDX-License-Identifier: MIT
#include "io/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "io/json.h"
#include "io/message_text.h"
#include "io/safetensors_header.h"

namespace lanner::io {
namespace {

std::string file_label(const AtomicFile& file) { return printable(file.target().filename().native()); }

std::string json_string(const AtomicFile& file, const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: name {} is not UTF-8", file_label(file), in_quotes(text)));
  }
}

std::string metadata_json(const AtomicFile& file, const std::map<std::string, std::string>& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_string(file, key), json_string(file, value));
  }
  return fmt::format("\"__metadata__\":{{{}}}", text);
}

/// The header's 8 length bytes and JSON, padded with spaces so that data starts at kDataAlignment.
std::string framed_header(const std::string& json) {
  const std::uint64_t unpadded = 8 + json.size();
  const std::uint64_t alignment = SafetensorsWriter::kDataAlignment;
  const std::uint64_t padded = (unpadded + alignment - 1) / alignment * alignment;
  std::string header;
  for (int shift = 0; shift < 64; shift += 8) header += static_cast<char>(((padded - 8) >> shift) & 0xFF);
  header += json;
  header.append(padded - unpadded, ' ');
  return header;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<TensorDeclaration>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path) {
  std::vector<const TensorDeclaration*> order;
  order.reserve(tensors.size());
  for (const TensorDeclaration& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const TensorDeclaration* a, const TensorDeclaration* b) {
    return size_bytes(a->dtype) > size_bytes(b->dtype);
  });
  std::string json = "{";
  if (!metadata.empty()) json += metadata_json(file_, metadata);
  std::uint64_t offset = 0;
  for (const TensorDeclaration* tensor : order) {
    const std::uint64_t begin = offset;
    offset += static_cast<std::uint64_t>(tensor->shape.element_count()) * size_bytes(tensor->dtype);
    if (tensor->name == "__metadata__" || !slots_.emplace(tensor->name, Slot{begin, offset}).second) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{}: tensor name {} is {}", file_label(file_), in_quotes(tensor->name),
                              tensor->name == "__metadata__" ? "reserved by the format" : "used twice"));
    }
    json += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        json.size() > 1 ? "," : "", json_string(file_, tensor->name), name(tensor->dtype),
                        fmt::join(tensor->shape.extents(), ","), begin, offset);
  }
  json += '}';
  const std::string header = framed_header(json);
  if (header.size() - 8 > kMaxSafetensorsHeaderBytes) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: a header of {} exceeds the format's limit of {}; write fewer tensors per file",
                    file_label(file_), readable_size(header.size()),
                    readable_size(kMaxSafetensorsHeaderBytes)));
  }
  for (auto& [name, slot] : slots_) {
    slot.next += header.size();
    slot.end += header.size();
  }
  file_size_ = header.size() + offset;
  file_.reserve(file_size_);
  file_.append(header);
}

void SafetensorsWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  const auto found = slots_.find(name);
  if (found == slots_.end()) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: tensor {} was not declared", file_label(file_), in_quotes(name)));
  }
  Slot& slot = found->second;
  if (bytes.size() > slot.end - slot.next) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: tensor {} receives {} bytes, but only {} are left of its size",
                            file_label(file_), in_quotes(name), bytes.size(), slot.end - slot.next));
  }
  file_.write_at(slot.next, bytes);
  slot.next += bytes.size();
}

void SafetensorsWriter::finish() {
  for (const auto& [name, slot] : slots_) {
    if (slot.next != slot.end) {
      throw Error(ErrorKind::kInternal, fmt::format("{}: tensor {} lacks {} bytes", file_label(file_),
                                                    in_quotes(name), slot.end - slot.next));
    }
  }
  file_.commit();
}

}  // namespace lanner::io
