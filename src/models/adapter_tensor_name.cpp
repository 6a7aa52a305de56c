// SPDX-License-Identifier: MIT
#include "models/adapter_tensor_name.h"

#include <algorithm>
#include <array>

namespace lanner::models {
namespace {

struct Leaf {
  std::string_view name;
  AdapterPart part;
  FactorLayout layout;
};

constexpr std::array<Leaf, 6> kLeaves = {{
    {"lora_A", AdapterPart::kA, FactorLayout::kPeft},
    {"lora_B", AdapterPart::kB, FactorLayout::kPeft},
    {"lora_magnitude_vector", AdapterPart::kMagnitude, FactorLayout::kPeft},
    {"lora_a", AdapterPart::kA, FactorLayout::kMlx},
    {"lora_b", AdapterPart::kB, FactorLayout::kMlx},
    {"m", AdapterPart::kMagnitude, FactorLayout::kMlx},
}};

void strip_prefix(std::string_view& text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
}

/// Takes the last segment off a dotted path; empty when there is only one.
std::string_view take_last(std::string_view& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = path.substr(dot + 1);
  path = path.substr(0, dot);
  return last;
}

const Leaf* find_leaf(std::string_view name) {
  const auto* leaf = std::ranges::find(kLeaves, name, &Leaf::name);
  return leaf == kLeaves.end() ? nullptr : leaf;
}

/// Takes "lora_A", "lora_A.weight", "lora_A.default" or "lora_A.default.weight" off the end.
const Leaf* take_leaf(std::string_view& path) {
  if (path.ends_with(".weight")) path.remove_suffix(7);
  const std::string_view last = take_last(path);
  if (const Leaf* leaf = find_leaf(last)) return leaf;
  return find_leaf(take_last(path));
}

/// "layers.N." and something behind it.
bool is_layer_path(std::string_view path) {
  constexpr std::string_view kLayers = "layers.";
  if (!path.starts_with(kLayers)) return false;
  path.remove_prefix(kLayers.size());
  const std::size_t digits = path.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && path[digits] == '.' && path.size() > digits + 1;
}

}  // namespace

bool AdapterTensorName::is_of_experts() const {
  return path.find(".experts.") != std::string::npos || path.ends_with(".experts") ||
         path.find(".switch_mlp.") != std::string::npos;
}

std::optional<AdapterTensorName> parse_adapter_tensor_name(std::string_view name) {
  strip_prefix(name, "base_model.model.");
  std::string_view path = name;
  const Leaf* leaf = take_leaf(path);
  if (leaf == nullptr) return std::nullopt;
  AdapterTensorName parsed{
      .path = {}, .module = std::string(path), .part = leaf->part, .layout = leaf->layout};
  for (const std::string_view prefix : {"model.", "language_model.", "model."}) strip_prefix(path, prefix);
  if (!is_layer_path(path)) return std::nullopt;
  parsed.path = path;
  return parsed;
}

}  // namespace lanner::models
