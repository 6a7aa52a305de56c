// SPDX-License-Identifier: MIT
#include "models/adapter_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/float_convert.h"
#include "io/message_text.h"

namespace lanner::models {
namespace {

constexpr std::size_t kNamesShown = 10;

/// Keys and values of a layer that reads another layer's: files of older releases have them, no model uses
/// them.
bool is_unused(const std::string& path, const std::vector<cache::LayerSpec>& layers) {
  if (!path.ends_with(".self_attn.k_proj") && !path.ends_with(".self_attn.v_proj")) return false;
  const std::size_t digits = path.find('.', 7) - 7;
  if (digits > 6) return false;
  const std::size_t layer = split_layer(path).first;
  return layer < layers.size() && std::holds_alternative<cache::SharedSpec>(layers[layer]);
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

/// The largest magnitude. Throws Error kCorrupt for elements that are not finite.
float largest_of(const io::TensorEntry& entry) {
  const auto count = static_cast<std::size_t>(entry.shape.element_count());
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = element(entry, i);
    if (!std::isfinite(value))
      throw io::tensor_error(entry, fmt::format("holds {} at element {}, expected finite numbers", value, i));
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

}  // namespace

AdapterTensors::AdapterTensors(const io::SafetensorsFile& file, const Model& model) : model_(model) {
  const std::vector<layers::LinearTarget>& targets = model.facts().targets;
  for (std::size_t i = 0; i < targets.size(); ++i) index_.emplace(targets[i].path, i);
  for (const io::TensorEntry& entry : file.tensors()) add(entry);
  refuse_unmatched(file);
}

void AdapterTensors::add(const io::TensorEntry& entry) {
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
    throw io::tensor_error(entry, fmt::format("is the same factor as {}", io::in_quotes(factor.entry->name)));
  factor = {&entry, name->layout};
}

void AdapterTensors::refuse_unmatched(const io::SafetensorsFile& file) const {
  if (unmatched_.empty() && !modules_.empty()) return;
  std::vector<std::string> known;
  for (const layers::LinearTarget& target : model_.facts().targets)
    if (known.size() < 3) known.push_back(target.path);
  const std::string source = file.path().filename().string();
  const std::string found = file.tensors().empty() ? "holds no tensor"
                            : unmatched_.empty()
                                ? "holds only factors that the model does not use: " + some_of(unused_)
                                : fmt::format("{} of {} tensors are no factors of this model's linears: {}",
                                              unmatched_.size(), file.tensors().size(), some_of(unmatched_));
  throw Error(ErrorKind::kCorrupt, fmt::format("{}: {}; expected lora_A and lora_B of linears such as {}",
                                               io::printable(source), found, some_of(known)));
}

CheckedModule check_module(const StoredModule& stored, const layers::LinearTarget& target) {
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
  return {static_cast<std::size_t>(rank), largest_of(*stored.a.entry), largest_of(*stored.b.entry)};
}

void check_addition(const StoredModule& stored, const CheckedModule& module, float scale) {
  const double largest =
      double(std::abs(scale)) * double(module.rank) * double(module.largest_a) * double(module.largest_b);
  if (largest > double(std::numeric_limits<float>::max()))
    throw io::tensor_error(
        *stored.b.entry,
        fmt::format(
            "holds up to {}: with {} in its lora_A, the rank {} and the scale {} it adds up to {:.3g} "
            "to a weight, expected finite floats",
            module.largest_b, module.largest_a, module.rank, scale, largest));
}

std::pair<std::size_t, std::string> split_layer(const std::string& path) {
  const std::size_t begin = path.find('.') + 1;
  const std::size_t end = path.find('.', begin);
  return {std::stoul(path.substr(begin, end - begin)), path.substr(end + 1)};
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    text += (i == 0 ? "" : ", ") + io::in_quotes(names[i]);
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

}  // namespace lanner::models
