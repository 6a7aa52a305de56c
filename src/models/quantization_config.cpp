// SPDX-License-Identifier: MIT
#include "models/quantization_config.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"

namespace lanner::models {
namespace {

constexpr std::array<std::string_view, 4> kTextPrefixes = {"model.language_model.", "language_model.model.",
                                                           "language_model.", "model."};
constexpr std::array<std::string_view, 4> kModes = {"affine", "mxfp4", "mxfp8", "nvfp4"};

std::optional<int> find_small_int(const io::Fields& fields, std::string_view key) {
  const auto value = fields.find_int(key, {.min = 1, .max = 65536});
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

ModuleQuantization read_values(const io::Fields& fields) {
  ModuleQuantization values{.bits = find_small_int(fields, "bits"),
                            .group = find_small_int(fields, "group_size"),
                            .mode = fields.find_string("mode")};
  if (values.mode && std::find(kModes.begin(), kModes.end(), *values.mode) == kModes.end())
    throw fields.unexpected("mode", "\"affine\", \"mxfp4\", \"mxfp8\" or \"nvfp4\"");
  return values;
}

void check_method(const io::Fields& block) {
  const auto method = block.find_string("quant_method");
  if (!method || *method == "mlx" || *method == "mxfp4") return;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{}: {} is \"{}\"; lanner reads MLX affine, mxfp4, mxfp8 and nvfp4 weights. Use an MLX "
                  "conversion, or the original bf16 folder with `lanner quantize`.",
                  block.source(), block.name_of("quant_method"), *method));
}

std::optional<io::Fields> find_block(const io::Fields& config) {
  if (auto block = config.find_object("quantization")) return block;
  if (auto block = config.find_object("quantization_config")) return block;
  if (const auto text = config.find_object("text_config")) {
    if (auto block = text->find_object("quantization")) return block;
    if (auto block = text->find_object("quantization_config")) return block;
  }
  return std::nullopt;
}

}  // namespace

std::string_view without_text_prefix(std::string_view name) {
  for (std::string_view prefix : kTextPrefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

QuantizationConfig QuantizationConfig::read(const io::Fields& config) {
  QuantizationConfig result;
  const auto block = find_block(config);
  if (!block) return result;
  check_method(*block);
  result.global_ = read_values(*block);
  for (const auto& [key, value] : block->json().items()) {
    const std::string module(without_text_prefix(key));
    if (value.is_object())
      result.overrides_[module] = read_values(block->required_object(key));
    else if (key.find('.') == std::string::npos || value.is_null())
      continue;  // the block's own fields
    else if (value.is_boolean())
      result.overrides_[module] = {.bits = {}, .group = {}, .mode = {}, .quantized = value.get<bool>()};
    else
      throw block->unexpected(key, "false, true or an object with bits and group_size");
  }
  return result;
}

ModuleQuantization QuantizationConfig::of(std::string_view module) const {
  const auto found = overrides_.find(module);
  if (found == overrides_.end()) return global_;
  ModuleQuantization values = found->second;
  if (!values.bits) values.bits = global_.bits;
  if (!values.group) values.group = global_.group;
  if (!values.mode) values.mode = global_.mode;
  return values;
}

}  // namespace lanner::models
