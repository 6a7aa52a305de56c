// SPDX-License-Identifier: MIT
#include "models/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "core/buffer.h"
#include "core/float_convert.h"
#include "core/xxhash64.h"
#include "io/message_text.h"
#include "io/safetensors_file.h"
#include "models/adapter_config.h"
#include "models/adapter_tensor_name.h"

namespace lanner::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPeftFile = "adapter_model.safetensors";
constexpr const char* kPeftPickle = "adapter_model.bin";
constexpr const char* kMlxFile = "adapters.safetensors";
constexpr std::size_t kNamesShown = 10;

/// A factor as the file has it.
struct StoredFactor {
  const io::TensorEntry* entry = nullptr;
  FactorLayout layout = FactorLayout::kPeft;
};

/// What the file has for one target.
struct StoredModule {
  std::string module;  ///< as the config names it
  StoredFactor a;
  StoredFactor b;
};

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

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    text += (i == 0 ? "" : ", ") + io::in_quotes(names[i]);
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

/// "layers.3.mlp.down_proj" → 3, "mlp.down_proj"
std::pair<std::size_t, std::string> split_layer(const std::string& path) {
  const std::size_t begin = path.find('.') + 1;
  const std::size_t end = path.find('.', begin);
  return {std::stoul(path.substr(begin, end - begin)), path.substr(end + 1)};
}

/// Keys and values of a layer that reads another layer's: files of older releases have them, no model uses
/// them.
bool is_unused(const std::string& path, const std::vector<cache::LayerSpec>& layers) {
  if (!path.ends_with(".self_attn.k_proj") && !path.ends_with(".self_attn.v_proj")) return false;
  const std::size_t digits = path.find('.', 7) - 7;
  if (digits > 6) return false;
  const std::size_t layer = split_layer(path).first;
  return layer < layers.size() && std::holds_alternative<cache::SharedSpec>(layers[layer]);
}

/// Sorts a file's tensors by the target they belong to, and says what is wrong with the others.
class AdapterTensors {
 public:
  AdapterTensors(const io::SafetensorsFile& file, const Model& model) : model_(model) {
    const std::vector<layers::LinearTarget>& targets = model.facts().targets;
    for (std::size_t i = 0; i < targets.size(); ++i) index_.emplace(targets[i].path, i);
    for (const io::TensorEntry& entry : file.tensors()) add(entry);
    refuse_unmatched(file);
  }

  const std::map<std::size_t, StoredModule>& modules() const { return modules_; }
  const std::vector<std::string>& unused() const { return unused_; }

 private:
  void add(const io::TensorEntry& entry) {
    const auto name = parse_adapter_tensor_name(entry.name);
    if (!name) {
      unmatched_.push_back(entry.name);
      return;
    }
    if (name->part == AdapterPart::kMagnitude)
      throw Error(ErrorKind::kUnsupported,
                  io::tensor_error(entry, "is a DoRA magnitude, expected plain LoRA").what());
    if (name->is_of_experts())
      throw Error(ErrorKind::kUnsupported,
                  io::tensor_error(entry, "adapts routed experts, expected linears of layers").what());
    const auto target = index_.find(name->path);
    if (target == index_.end()) {
      (is_unused(name->path, model_.cache_layers()) ? unused_ : unmatched_).push_back(entry.name);
      return;
    }
    StoredModule& module = modules_[target->second];
    module.module = name->module;
    StoredFactor& factor = name->part == AdapterPart::kA ? module.a : module.b;
    if (factor.entry != nullptr)
      throw io::tensor_error(entry,
                             fmt::format("is the same factor as {}", io::in_quotes(factor.entry->name)));
    factor = {&entry, name->layout};
  }

  void refuse_unmatched(const io::SafetensorsFile& file) const {
    if (unmatched_.empty() && !modules_.empty()) return;
    std::vector<std::string> known;
    for (const layers::LinearTarget& target : model_.facts().targets)
      if (known.size() < 3) known.push_back(target.path);
    const std::string source = file.path().filename().string();
    const std::string found =
        file.tensors().empty() ? "holds no tensor"
        : unmatched_.empty()   ? "holds only factors that the model does not use: " + some_of(unused_)
                               : fmt::format("{} of {} tensors are no factors of this model's linears: {}",
                                             unmatched_.size(), file.tensors().size(), some_of(unmatched_));
    throw Error(ErrorKind::kCorrupt, fmt::format("{}: {}; expected lora_A and lora_B of linears such as {}",
                                                 io::printable(source), found, some_of(known)));
  }

  const Model& model_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::size_t, StoredModule> modules_;
  std::vector<std::string> unmatched_;
  std::vector<std::string> unused_;
};

/// The rank of a module's factors, after all of it was checked.
std::size_t check_module(const StoredModule& stored, const layers::LinearTarget& target) {
  if (stored.a.entry == nullptr) throw io::tensor_error(*stored.b.entry, "has no lora_A beside it");
  if (stored.b.entry == nullptr) throw io::tensor_error(*stored.a.entry, "has no lora_B beside it");
  const auto in = static_cast<std::int64_t>(target.in);
  const auto out = static_cast<std::int64_t>(target.out);
  std::int64_t rank = 0;
  for (const StoredFactor* factor : {&stored.a, &stored.b}) {
    const io::TensorEntry& entry = *factor->entry;
    if (entry.dtype != DType::kF32 && entry.dtype != DType::kF16 && entry.dtype != DType::kBF16)
      throw Error(
          ErrorKind::kUnsupported,
          io::tensor_error(entry, fmt::format("has type {}, expected F32, F16 or BF16", name(entry.dtype)))
              .what());
    if (entry.shape.rank() != 2) throw io::tensor_error(entry, "is no matrix, expected one with the rank");
    const bool is_a = factor == &stored.a;
    const bool peft = factor->layout == FactorLayout::kPeft;
    const int rank_axis = is_a == peft ? 0 : 1;  // [R, in] and [R, out], or [in, R] and [out, R]
    const std::int64_t width = is_a ? in : out;
    const std::string why =
        fmt::format("{} has {} inputs and {} outputs", target.path, target.in, target.out);
    if (entry.shape[1 - rank_axis] != width) {
      const bool turned = entry.shape[rank_axis] == width;
      throw io::tensor_error(
          entry,
          fmt::format("has shape {}, expected {} ({}){}", to_string(entry.shape),
                      rank_axis == 0 ? fmt::format("[rank, {}]", width) : fmt::format("[{}, rank]", width),
                      why, turned ? "; it fits the other way round: PEFT and MLX names are mixed up" : ""));
    }
    if (is_a) rank = entry.shape[rank_axis];
    if (rank == 0 || entry.shape[rank_axis] != rank)
      throw io::tensor_error(entry, fmt::format("has rank {}, expected {} as {}", entry.shape[rank_axis],
                                                rank == 0 ? "at least 1" : fmt::format("{}", rank),
                                                io::in_quotes(stored.a.entry->name)));
  }
  return static_cast<std::size_t>(rank);
}

/// Element `index` of a tensor of any float type.
float element(const io::TensorEntry& entry, std::size_t index) {
  if (entry.dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, entry.bytes.data() + index * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, entry.bytes.data() + index * sizeof bits, sizeof bits);
  return entry.dtype == DType::kBF16 ? bf16_to_float(bits) : f16_to_float(bits);
}

void check_finite(const io::TensorEntry& entry) {
  const auto count = static_cast<std::size_t>(entry.shape.element_count());
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isfinite(element(entry, i)))
      throw io::tensor_error(
          entry, fmt::format("holds {} at element {}, expected finite numbers", element(entry, i), i));
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
    const std::size_t rank = check_module(stored, targets[index]);
    check_finite(*stored.a.entry);
    check_finite(*stored.b.entry);
    checked[index] = {rank, config.scale(stored.module, rank)};
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
