// SPDX-License-Identifier: MIT
#include "models/qwen3_5/qwen3_5_config.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::models::qwen3_5 {
namespace {

constexpr io::IntRange kSize{.min = 1, .max = std::int64_t{1} << 31};
constexpr io::IntRange kHeadSize{.min = 2, .max = 65536};  // a table of frequencies comes before any weight

std::size_t size_field(const io::Fields& fields, std::string_view key) {
  return static_cast<std::size_t>(fields.required_int(key, kSize));
}

std::size_t size_field(const io::Fields& fields, std::string_view key, std::int64_t fallback) {
  return static_cast<std::size_t>(fields.optional_int(key, fallback, kSize));
}

std::array<std::size_t, 3> read_mrope_section(const io::Fields& rope) {
  constexpr std::array<std::size_t, 3> kReleased = {11, 11, 10};
  const auto section = rope.find_ints("mrope_section", {.min = 0, .max = 4096});
  if (!section || section->empty()) return kReleased;
  if (section->size() != 3) throw rope.unexpected("mrope_section", "three integers");
  return {static_cast<std::size_t>((*section)[0]), static_cast<std::size_t>((*section)[1]),
          static_cast<std::size_t>((*section)[2])};
}

RopeParameters read_rope(const io::Fields& text) {
  const auto nested = text.find_object("rope_parameters");
  const io::Fields& fields = nested ? *nested : text;
  constexpr double kReleasedPartialFactor = 0.25;
  constexpr io::NumberRange kShare{.min = 0, .max = 1};
  RopeParameters rope{
      .theta = fields.required_number("rope_theta", io::kAboveZero),
      .partial_factor = fields.optional_number(
          "partial_rotary_factor",
          text.optional_number("partial_rotary_factor", kReleasedPartialFactor, kShare), kShare),
      .mrope_section = read_mrope_section(fields),
      .yarn = std::nullopt};
  const std::string_view type_key = fields.has("rope_type") ? "rope_type" : "type";
  const std::string type = nested ? fields.optional_string(type_key, "default") : "default";
  if (type == "yarn")
    rope.yarn = YarnConfig{.factor = fields.required_number("factor", {.min = 1}),
                           .original_context = fields.optional_number("original_max_position_embeddings",
                                                                      262144, io::kAboveZero)};
  else if (type != "default" && type != "mrope")
    throw fields.unexpected(type_key, "\"default\" or \"yarn\"");
  return rope;
}

std::vector<LayerType> read_layer_types(const io::Fields& text, std::size_t layers) {
  std::vector<LayerType> types;
  if (const auto names = text.find_strings("layer_types")) {
    for (const std::string& name : *names) {
      if (name != "linear_attention" && name != "full_attention")
        throw text.unexpected("layer_types", "a list of \"linear_attention\" and \"full_attention\"");
      types.push_back(name == "full_attention" ? LayerType::kFull : LayerType::kLinear);
    }
    if (types.size() != layers)
      throw text.unexpected("layer_types", fmt::format("{} entries (num_hidden_layers)", layers));
    return types;
  }
  const std::size_t interval = size_field(text, "full_attention_interval", 4);
  for (std::size_t i = 0; i < layers; ++i)
    types.push_back((i + 1) % interval == 0 ? LayerType::kFull : LayerType::kLinear);
  return types;
}

cache::RecurrentSpec read_delta_net(const io::Fields& text) {
  const cache::RecurrentSpec spec{
      .taps = static_cast<std::size_t>(text.optional_int("linear_conv_kernel_dim", 4, {.min = 2, .max = 16})),
      .key_heads = size_field(text, "linear_num_key_heads"),
      .value_heads = size_field(text, "linear_num_value_heads"),
      .key_dim = size_field(text, "linear_key_head_dim"),
      .value_dim = size_field(text, "linear_value_head_dim")};
  if (spec.value_heads % spec.key_heads != 0)
    throw text.unexpected("linear_num_value_heads",
                          fmt::format("a multiple of linear_num_key_heads, {}", spec.key_heads));
  return spec;
}

std::optional<MoeConfig> read_moe(const io::Fields& text) {
  if (text.optional_int("num_experts", 0, {.min = 0, .max = 65536}) == 0) return std::nullopt;
  const MoeConfig moe{.experts = size_field(text, "num_experts"),
                      .top_k = size_field(text, "num_experts_per_tok"),
                      .intermediate_size = size_field(text, "moe_intermediate_size"),
                      .shared_intermediate_size = size_field(text, "shared_expert_intermediate_size")};
  if (moe.top_k > moe.experts)
    throw text.unexpected("num_experts_per_tok", fmt::format("at most num_experts, {}", moe.experts));
  return moe;
}

void refuse_unsupported(const io::Fields& text) {
  if (text.optional_string("hidden_act", "silu") != "silu") throw text.unexpected("hidden_act", "\"silu\"");
  if (text.optional_bool("attention_bias", false)) throw text.unexpected("attention_bias", "false");
  if (!text.optional_bool("attn_output_gate", true)) throw text.unexpected("attn_output_gate", "true");
  if (!text.optional_bool("norm_topk_prob", true)) throw text.unexpected("norm_topk_prob", "true");
  const std::string gate = text.optional_string("output_gate_type", "swish");
  if (gate != "swish" && gate != "silu") throw text.unexpected("output_gate_type", "\"swish\" or \"silu\"");
}

}  // namespace

std::size_t Config::rotary_pairs() const {
  return static_cast<std::size_t>(rope.partial_factor * static_cast<double>(head_dim)) / 2;
}

Config read_config(const io::Fields& root) {
  const io::Fields text = root.find_object("text_config").value_or(root);
  refuse_unsupported(text);
  Config config;
  config.model_type = root.required_string("model_type");
  config.vocabulary = size_field(text, "vocab_size");
  config.hidden_size = size_field(text, "hidden_size");
  config.layers = static_cast<std::size_t>(text.required_int("num_hidden_layers", {.min = 1, .max = 4096}));
  config.heads = size_field(text, "num_attention_heads");
  config.kv_heads = size_field(text, "num_key_value_heads");
  config.head_dim = static_cast<std::size_t>(text.required_int("head_dim", kHeadSize));
  config.rms_norm_eps = static_cast<float>(text.optional_number("rms_norm_eps", 1e-6, io::kAboveZero));
  config.context = size_field(text, "max_position_embeddings", 32768);
  config.rope = read_rope(text);
  config.layer_types = read_layer_types(text, config.layers);
  config.delta_net = read_delta_net(text);
  config.moe = read_moe(text);
  if (!config.moe) config.intermediate_size = size_field(text, "intermediate_size");
  config.tied_head =
      root.optional_bool("tie_word_embeddings", text.optional_bool("tie_word_embeddings", false));
  if (config.heads % config.kv_heads != 0)
    throw text.unexpected("num_attention_heads",
                          fmt::format("a multiple of num_key_value_heads, {}", config.kv_heads));
  return config;
}

}  // namespace lanner::models::qwen3_5
