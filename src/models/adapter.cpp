// SPDX-License-Identifier: MIT
#include "models/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "core/buffer.h"
#include "core/xxhash64.h"
#include "io/message_text.h"
#include "models/adapter_config.h"
#include "models/adapter_tensors.h"

namespace lanner::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPeftFile = "adapter_model.safetensors";
constexpr const char* kPeftPickle = "adapter_model.bin";
constexpr const char* kMlxFile = "adapters.safetensors";

fs::path find_weights(const fs::path& folder) {
  for (const char* name : {kPeftFile, kMlxFile})
    if (fs::exists(folder / name)) return folder / name;
  if (fs::exists(folder / kPeftPickle))
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: {} is a pickle, which can hold a program; save the adapter as safetensors",
                            io::printable(folder.native()), kPeftPickle));
  throw Error(ErrorKind::kNotFound, fmt::format("{}: holds no adapter, expected {} (PEFT) or {} (mlx-lm)",
                                                io::printable(folder.native()), kPeftFile, kMlxFile));
}

/// Copies factors one behind the other into memory of their own.
class FactorMemory {
 public:
  FactorMemory(std::size_t size_bytes, Isa isa)
      : buffer_(std::make_shared<const Buffer>(size_bytes)), isa_(isa) {}

  static std::size_t padded(const io::TensorEntry& entry) {
    return (entry.bytes.size() + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
  }

  /// The factor as [rows, columns], which the file may have the other way round.
  device::Matrix copy(const StoredFactor& stored, std::size_t rows, std::size_t columns) {
    const io::TensorEntry& entry = *stored.entry;
    std::byte* const to = buffer_->data() + used_;
    used_ += padded(entry);
    if (stored.layout == FactorLayout::kPeft) {
      std::memcpy(to, entry.bytes.data(), entry.bytes.size());
    } else {
      const std::size_t size = size_bytes(entry.dtype);
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
          std::memcpy(to + (row * columns + column) * size, entry.bytes.data() + (column * rows + row) * size,
                      size);
    }
    const int bits = 8 * static_cast<int>(size_bytes(entry.dtype));
    return {{.spec = {device::WeightFormat::kDense, entry.dtype, bits, 0},
             .rows = rows,
             .columns = columns,
             .data = to},
            buffer_,
            isa_};
  }

 private:
  std::shared_ptr<const Buffer> buffer_;
  Isa isa_;
  std::size_t used_ = 0;
};

void add_to_hash(Xxhash64& hash, const device::Matrix& factor) {
  const device::WeightView& view = factor.view();
  hash.add(fmt::format(" {} {} {} ", name(view.spec.dtype), view.rows, view.columns));
  hash.add(std::span(static_cast<const std::byte*>(view.data), factor.size_bytes()));
}

}  // namespace

Adapter read_adapter(const fs::path& folder, const Model& model, const device::Ops& ops) {
  if (ops.add_low_rank == nullptr)
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: adapters run on the CPU only, this model is on {}; use --device cpu",
                            io::printable(folder.native()), ops.device));
  const io::SafetensorsFile file(find_weights(folder));
  const AdapterConfig config = AdapterConfig::read(folder);
  const AdapterTensors tensors(file, model);
  const std::vector<layers::LinearTarget>& targets = model.facts().targets;

  std::map<std::size_t, std::pair<std::size_t, float>> checked;  // rank and scale
  Adapter adapter;
  for (const auto& [index, stored] : tensors.modules()) {
    const CheckedModule module = check_module(stored, targets[index]);
    const float scale = config.scale(stored.module, module.rank);
    check_addition(stored, module, scale);
    checked[index] = {module.rank, scale};
    adapter.size_bytes += FactorMemory::padded(*stored.a.entry) + FactorMemory::padded(*stored.b.entry);
  }

  auto weights = std::make_shared<layers::LoraWeights>(targets.size());
  FactorMemory memory(adapter.size_bytes, ops.isa);
  Xxhash64 hash;
  std::set<std::size_t> adapted_layers;
  std::set<std::string> kinds;
  for (const auto& [index, stored] : tensors.modules()) {
    const auto [rank, scale] = checked[index];
    const layers::LinearTarget& target = targets[index];
    const layers::LoraFactors& factors =
        (*weights)[index].emplace(layers::LoraFactors{.a = memory.copy(stored.a, rank, target.in),
                                                      .b = memory.copy(stored.b, target.out, rank),
                                                      .scale = scale});
    hash.add(fmt::format("{} {:a}", target.path, scale));
    add_to_hash(hash, factors.a);
    add_to_hash(hash, factors.b);
    const auto [layer, kind] = split_layer(target.path);
    adapted_layers.insert(layer);
    kinds.insert(kind);
    adapter.rank = std::max(adapter.rank, rank);
    if (rank > std::min(target.in, target.out))
      adapter.remarks.push_back(
          fmt::format("the rank {} of {} is larger than the weight's own", rank, target.path));
  }
  adapter.weights = std::move(weights);
  adapter.content_hash = fmt::format("{:016x}", hash.value());
  adapter.modules = tensors.modules().size();
  adapter.layers = adapted_layers.size();
  adapter.targets.assign(kinds.begin(), kinds.end());
  if (!tensors.unused().empty())
    adapter.remarks.push_back(
        fmt::format("left out, as the model does not use them: {}", some_of(tensors.unused())));
  return adapter;
}

}  // namespace lanner::models
