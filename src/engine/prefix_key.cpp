// SPDX-License-Identifier: MIT
#include "engine/prefix_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <variant>

#include "core/xxhash64.h"

namespace lanner::engine {
namespace {

constexpr std::size_t kSample = 4096;

struct Ends {
  std::span<const std::byte> first;
  std::span<const std::byte> last;
};

/// The tensors at both ends of each weight file.
std::map<std::string, Ends> ends_of_files(const io::Checkpoint& checkpoint) {
  std::map<std::string, Ends> files;
  for (const io::TensorEntry& tensor : checkpoint.tensors()) {
    if (tensor.bytes.empty()) continue;
    Ends& ends = files.try_emplace(tensor.file_name(), Ends{tensor.bytes, tensor.bytes}).first->second;
    if (tensor.bytes.data() < ends.first.data()) ends.first = tensor.bytes;
    if (tensor.bytes.data() > ends.last.data()) ends.last = tensor.bytes;
  }
  return files;
}

}  // namespace

std::string model_fingerprint(const io::Checkpoint& checkpoint) {
  Xxhash64 hash;
  hash.add(checkpoint.config().dump());
  for (const io::TensorEntry& tensor : checkpoint.tensors())
    hash.add(fmt::format("\n{} {} {}", tensor.name, name(tensor.dtype), to_string(tensor.shape)));
  for (const auto& [file, ends] : ends_of_files(checkpoint)) {
    hash.add("\n" + file + "\n");
    hash.add(ends.first.first(std::min(kSample, ends.first.size())));
    hash.add(ends.last.last(std::min(kSample, ends.last.size())));
  }
  return fmt::format("{:016x}", hash.value());
}

std::string kv_types_name(const cache::CacheSpec& spec) {
  std::string text(name(spec.kv_type));
  for (const auto& [layer, type] : spec.layer_kv_types) text += fmt::format(" {}:{}", layer, name(type));
  return text;
}

cache::PrefixKey prefix_key(const LoadedModel& model) {
  // Dense weights are multiplied in another way where the CPU can.
  const bool bf16 = model.options().compute == device::Compute::kInt8 && model.ops().isa == Isa::kAvx512 &&
                    cpu_supports_bf16();
  // Where a delta net folds its state decides what its rows are computed from.
  const auto folds = [](const cache::LayerSpec& layer) {
    return std::holds_alternative<cache::RecurrentSpec>(layer);
  };
  const std::string chunk = std::ranges::any_of(model.cache_spec().layers, folds)
                                ? fmt::format(" chunk {}", model.ops().delta_chunk)
                                : std::string();
  return {.model = fmt::format("{} {} {}{}{}", model_fingerprint(model.checkpoint()), model.ops().device,
                               device::name(model.options().compute), bf16 ? " bf16" : "", chunk),
          .kv_types = kv_types_name(model.cache_spec()),
          .adapters = ""};
}

}  // namespace lanner::engine
