// SPDX-License-Identifier: MIT
#include "quantize/conversion_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "io/message_text.h"
#include "quantize/float_elements.h"
#include "quantize/mlx_names.h"

namespace lanner::quantize {
namespace {

constexpr std::string_view kWeight = ".weight";

void refuse_quantized_config(const io::Fields& config) {
  for (const std::string_view key : {"quantization", "quantization_config"}) {
    const auto text = config.find_object("text_config");
    if (!config.has(key) && !(text && text->has(key))) continue;
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("config.json: has a {} block, so this folder is quantized already; quantize from the "
                    "original bf16, f16 or f32 folder",
                    key));
  }
}

/// Quantized files give themselves away by integer weights and by scales beside a weight.
void refuse_quantized(const io::TensorEntry& tensor) {
  const std::string_view name = tensor.name;
  const bool is_weight = name.ends_with(kWeight) || name.ends_with(".qweight") || name.ends_with("_packed");
  const bool is_scale = name.ends_with(".scales") || name.ends_with("weight_scale_inv") ||
                        name.ends_with("weight_scale") || name.ends_with("embedding_quantized");
  if (!is_scale && !(is_weight && !is_float(tensor.dtype))) return;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{}: tensor {} ({}) belongs to a quantized model; quantize from the original bf16, f16 or "
                  "f32 folder",
                  tensor.file_name(), io::in_quotes(name), lanner::name(tensor.dtype)));
}

DType find_model_dtype(const std::vector<TargetTensor>& targets) {
  for (const TargetTensor& target : targets)
    if (target.part == Part::kText && target.name.ends_with("embed_tokens.weight"))
      return target.source->dtype;
  throw Error(
      ErrorKind::kCorrupt,
      "the folder has no tensor model.language_model.embed_tokens.weight (or model.embed_tokens.weight), "
      "which every language model has; its weight files may be incomplete");
}

/// True for matrices that quantization applies to. Convolutions and norms have no such form.
bool is_module(const TargetTensor& target) {
  return target.part != Part::kTower && target.name.ends_with(kWeight) && target.shape.rank() >= 2 &&
         !target.name.ends_with("conv1d.weight") && is_float(target.source->dtype);
}

DType output_dtype(const TargetTensor& target, DType model_dtype) {
  const DType dtype = target.source->dtype;
  const bool keeps = target.part == Part::kTower || !is_float(dtype) || target.name.ends_with("A_log");
  return keeps ? dtype : model_dtype;
}

Shape with_last(const Shape& shape, std::size_t last) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.back() = static_cast<std::int64_t>(last);
  return Shape(extents);
}

void cut_shards(ConversionPlan& plan, std::uint64_t max_shard_bytes) {
  std::uint64_t used = 0;
  std::size_t shard = 0;
  for (PlannedTensor& tensor : plan.tensors) {
    const std::uint64_t size = tensor.output_bytes();
    if (used != 0 && used + size > max_shard_bytes) {
      ++shard;
      used = 0;
    }
    used += size;
    tensor.shard = shard;
  }
  plan.shards = shard + 1;
}

}  // namespace

std::vector<io::TensorDeclaration> PlannedTensor::declarations() const {
  if (!format) return {{target.name, dtype, target.shape}};
  const std::size_t groups = columns() / static_cast<std::size_t>(format->group);
  const Shape words = with_last(target.shape, code_bytes(*format, columns()) / 4);
  const Shape scales = with_last(target.shape, groups);
  if (format->mode != QuantMode::kAffine)
    return {{module + ".weight", DType::kU32, words}, {module + ".scales", DType::kU8, scales}};
  return {{module + ".weight", DType::kU32, words},
          {module + ".scales", dtype, scales},
          {module + ".biases", dtype, scales}};
}

std::uint64_t PlannedTensor::output_bytes() const {
  std::uint64_t total = 0;
  for (const io::TensorDeclaration& tensor : declarations())
    total += static_cast<std::uint64_t>(tensor.shape.element_count()) * size_bytes(tensor.dtype);
  return total;
}

ConversionPlan plan_conversion(const io::Checkpoint& checkpoint, BitRules rules,
                               std::uint64_t max_shard_bytes) {
  refuse_quantized_config(checkpoint.config_fields());
  for (const io::TensorEntry& tensor : checkpoint.tensors()) refuse_quantized(tensor);

  ConversionPlan plan;
  plan.global = rules.global();
  std::vector<TargetTensor> targets = map_to_mlx(checkpoint);
  const DType model_dtype = find_model_dtype(targets);
  for (TargetTensor& target : targets) {
    PlannedTensor planned;
    planned.dtype = output_dtype(target, model_dtype);
    if (is_module(target)) {
      planned.module = target.name.substr(0, target.name.size() - kWeight.size());
      const ModuleFormat choice =
          rules.format_of(planned.module, static_cast<std::size_t>(target.shape.back()));
      planned.format = choice.format;
      if (choice.listed) plan.listed.emplace(planned.module, choice.format);
    }
    for (const auto piece : target.pieces) plan.source_bytes += piece.size();
    planned.target = std::move(target);
    plan.output_bytes += planned.output_bytes();
    plan.tensors.push_back(std::move(planned));
  }
  if (const std::vector<std::string> unused = rules.unused_overrides(); !unused.empty())
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("override {} matches no module of this model; module paths look like {}",
                            io::in_quotes(unused.front()),
                            io::in_quotes("language_model.model.layers.3.mlp.down_proj")));
  cut_shards(plan, max_shard_bytes);
  return plan;
}

}  // namespace lanner::quantize
