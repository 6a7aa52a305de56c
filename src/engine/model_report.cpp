// SPDX-License-Identifier: MIT
#include "engine/model_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <type_traits>
#include <variant>

namespace lanner::engine {
namespace {

struct GroupRule {
  std::string_view infix;  ///< found in the weight's path
  std::string_view name;
};

// The first match counts.
constexpr std::array<GroupRule, 18> kRules = {{
    {"layernorm", "norms"},
    {"_norm", "norms"},
    {"linear_attn.norm", "norms"},
    {"embed_tokens_per_layer", "per-layer embeddings"},
    {"embed_tokens", "embeddings"},
    {"per_layer", "per-layer inputs"},
    {"self_attn", "attention"},
    {"linear_attn", "delta net"},
    {"shared_expert", "shared expert"},
    {"experts", "experts"},
    {"switch_mlp", "experts"},
    {"switch_glu", "experts"},
    {"per_expert_scale", "router"},
    {"router", "router"},
    {"mlp.gate.", "router"},
    {"mlp", "mlp"},
    {"lm_head", "head"},
    {"norm.", "norms"},
}};
constexpr std::string_view kRest = "scalars";

// Where a group stands in a listing: embeddings first, head last.
constexpr std::array<std::string_view, 12> kOrder = {"embeddings",
                                                     "per-layer embeddings",
                                                     "per-layer inputs",
                                                     "attention",
                                                     "delta net",
                                                     "mlp",
                                                     "router",
                                                     "experts",
                                                     "shared expert",
                                                     "norms",
                                                     kRest,
                                                     "head"};

std::size_t place(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kOrder, name) - kOrder.begin());
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

std::string_view weight_group_name(std::string_view path) {
  // The router of a Qwen layer is "mlp.gate", its dense projection "mlp.gate_proj".
  const std::string dotted = std::string(path) + ".";
  for (const GroupRule& rule : kRules)
    if (dotted.find(rule.infix) != std::string::npos) return rule.name;
  return kRest;
}

std::string format_name(const device::WeightSpec& spec) {
  switch (spec.format) {
    case device::WeightFormat::kDense:
      return lower_case(name(spec.dtype));
    case device::WeightFormat::kAffine:
      return fmt::format("affine {}-bit group {}", spec.bits, spec.group);
    case device::WeightFormat::kMxfp4:
      return "mxfp4";
    case device::WeightFormat::kMxfp8:
      return "mxfp8";
    case device::WeightFormat::kNvfp4:
      return "nvfp4";
  }
  return "?";
}

std::vector<WeightGroup> weight_groups(const models::ModelFacts& facts) {
  std::vector<WeightGroup> groups;
  for (const models::ModuleFacts& module : facts.modules) {
    const std::string_view name = weight_group_name(module.path);
    const std::string format = format_name(module.spec);
    auto group = std::ranges::find_if(
        groups, [&](const WeightGroup& g) { return g.name == name && g.format == format; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {.name = std::string(name), .format = format});
    ++group->tensors;
    group->parameters += module.parameters;
    group->size_bytes += module.size_bytes;
  }
  std::ranges::stable_sort(
      groups, [](const WeightGroup& a, const WeightGroup& b) { return place(a.name) < place(b.name); });
  return groups;
}

LayerKinds layer_kinds(const std::vector<cache::LayerSpec>& layers) {
  LayerKinds kinds;
  for (const cache::LayerSpec& layer : layers) {
    if (const auto* shared = std::get_if<cache::SharedSpec>(&layer)) {
      const bool full = std::holds_alternative<cache::FullSpec>(layers[shared->donor]);
      ++(full ? kinds.shared_full : kinds.shared_sliding);
    } else if (const auto* sliding = std::get_if<cache::SlidingSpec>(&layer)) {
      ++kinds.sliding;
      kinds.window = sliding->window;
    } else {
      ++(std::holds_alternative<cache::FullSpec>(layer) ? kinds.full : kinds.recurrent);
    }
  }
  return kinds;
}

SequenceBytes sequence_bytes(const std::vector<cache::LayerSpec>& layers, std::size_t element_bytes) {
  SequenceBytes bytes;
  for (const cache::LayerSpec& layer : layers) {
    if (const auto* full = std::get_if<cache::FullSpec>(&layer))
      bytes.per_token += 2 * full->kv_heads * full->head_dim * element_bytes;
    else if (const auto* sliding = std::get_if<cache::SlidingSpec>(&layer))
      bytes.sliding_per_token += 2 * sliding->kv_heads * sliding->head_dim * element_bytes;
    else if (const auto* state = std::get_if<cache::RecurrentSpec>(&layer))
      bytes.fixed += sizeof(float) * ((state->taps - 1) * state->conv_channels() +
                                      state->value_heads * state->key_dim * state->value_dim);
  }
  return bytes;
}

}  // namespace lanner::engine
