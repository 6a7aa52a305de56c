// SPDX-License-Identifier: MIT
#include "models/gemma4/gemma4_config.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::models::gemma4 {
namespace {

constexpr io::IntRange kSize{.min = 1, .max = std::int64_t{1} << 31};
constexpr io::IntRange kHeadSize{.min = 2, .max = 65536};  // a table of frequencies comes before any weight
constexpr io::IntRange kSizeOrZero{.min = 0, .max = std::int64_t{1} << 31};
constexpr int kDefaultPattern = 6;

std::size_t size_field(const io::Fields& fields, std::string_view key, std::int64_t fallback) {
  return static_cast<std::size_t>(fields.optional_int(key, fallback, kSize));
}

RopeParameters read_rope(const io::Fields& text, std::string_view layer_type, RopeParameters parameters,
                         std::string_view expected_type) {
  const auto all = text.find_object("rope_parameters");
  if (!all) return parameters;
  const auto fields = all->find_object(layer_type);
  if (!fields) return parameters;
  const std::string type = fields->optional_string("rope_type", expected_type);
  if (type != "default" && type != "proportional")
    throw fields->unexpected("rope_type", "\"default\" or \"proportional\"");
  parameters.theta = fields->optional_number("rope_theta", parameters.theta, io::kAboveZero);
  parameters.factor = fields->optional_number("factor", parameters.factor, io::kAboveZero);
  parameters.partial_factor =
      type == "default"
          ? 1.0
          : fields->optional_number("partial_rotary_factor", parameters.partial_factor, {.min = 0, .max = 1});
  return parameters;
}

std::vector<LayerType> read_layer_types(const io::Fields& text, std::size_t layers) {
  std::vector<LayerType> types;
  if (const auto names = text.find_strings("layer_types")) {
    for (const std::string& name : *names) {
      if (name != "sliding_attention" && name != "full_attention")
        throw text.unexpected("layer_types", "a list of \"sliding_attention\" and \"full_attention\"");
      types.push_back(name == "full_attention" ? LayerType::kFull : LayerType::kSliding);
    }
    if (types.size() != layers)
      throw text.unexpected("layer_types", fmt::format("{} entries (num_hidden_layers)", layers));
  } else {
    for (std::size_t i = 0; i < layers; ++i)
      types.push_back((i + 1) % kDefaultPattern == 0 ? LayerType::kFull : LayerType::kSliding);
  }
  types.back() = LayerType::kFull;  // the reference forces the last layer
  return types;
}

std::optional<MoeConfig> read_moe(const io::Fields& text) {
  if (!text.optional_bool("enable_moe_block", false)) return std::nullopt;
  const std::string_view width =
      text.has("moe_intermediate_size") ? "moe_intermediate_size" : "expert_intermediate_size";
  MoeConfig moe{.experts = static_cast<std::size_t>(text.required_int("num_experts", kSize)),
                .top_k = static_cast<std::size_t>(text.required_int("top_k_experts", kSize)),
                .intermediate_size = static_cast<std::size_t>(text.required_int(width, kSize))};
  if (moe.top_k > moe.experts)
    throw text.unexpected("top_k_experts", fmt::format("at most num_experts, {}", moe.experts));
  return moe;
}

void refuse_unsupported(const io::Fields& text) {
  if (text.optional_string("hidden_activation", "gelu_pytorch_tanh") != "gelu_pytorch_tanh")
    throw text.unexpected("hidden_activation", "\"gelu_pytorch_tanh\"");
  if (text.optional_bool("attention_bias", false)) throw text.unexpected("attention_bias", "false");
  if (text.optional_string("use_bidirectional_attention", "vision") != "vision")
    throw text.unexpected("use_bidirectional_attention", "null or \"vision\" (lanner runs causal models)");
}

void check_sharing(const io::Fields& text, const Config& config) {
  if (config.kv_shared_layers == 0) return;
  if (config.kv_shared_layers >= config.layers)
    throw text.unexpected("num_kv_shared_layers",
                          fmt::format("less than num_hidden_layers, {}", config.layers));
  for (std::size_t layer = config.kv_owners(); layer < config.layers; ++layer)
    if (config.donor(layer) == config.layers)
      throw text.unexpected(
          "num_kv_shared_layers",
          fmt::format("a layer of the same type as layer {} before the shared ones", layer));
}

std::vector<std::int32_t> read_media_tokens(const io::Fields& config) {
  std::vector<std::int32_t> tokens;
  for (std::string_view key : {"image_token_id", "audio_token_id", "video_token_id"})
    if (const auto id = config.find_int(key, kSizeOrZero)) tokens.push_back(static_cast<std::int32_t>(*id));
  return tokens;
}

}  // namespace

std::size_t Config::donor(std::size_t layer) const {
  for (std::size_t owner = kv_owners(); owner-- > 0;)
    if (layer_types[owner] == layer_types[layer]) return owner;
  return layers;
}

std::size_t Config::head_dim_of(std::size_t layer) const {
  return layer_types[layer] == LayerType::kFull ? global_head_dim : head_dim;
}

std::size_t Config::kv_heads_of(std::size_t layer) const {
  return layer_types[layer] == LayerType::kFull ? global_kv_heads : kv_heads;
}

std::size_t Config::intermediate_of(std::size_t layer) const {
  return double_wide_mlp && kv_shared_layers > 0 && shares_kv(layer) ? 2 * intermediate_size
                                                                     : intermediate_size;
}

Config read_config(const io::Fields& root) {
  const io::Fields text = root.find_object("text_config").value_or(root);
  refuse_unsupported(text);
  Config config;
  config.model_type = root.required_string("model_type");
  config.vocabulary = size_field(text, "vocab_size", 262144);
  config.hidden_size = size_field(text, "hidden_size", 2304);
  config.intermediate_size = size_field(text, "intermediate_size", 9216);
  config.layers =
      static_cast<std::size_t>(text.optional_int("num_hidden_layers", 30, {.min = 1, .max = 4096}));
  config.heads = size_field(text, "num_attention_heads", 8);
  config.kv_heads = size_field(text, "num_key_value_heads", 4);
  config.keys_are_values = text.optional_bool("attention_k_eq_v", false);
  config.global_kv_heads = config.keys_are_values ? size_field(text, "num_global_key_value_heads",
                                                               static_cast<std::int64_t>(config.kv_heads))
                                                  : config.kv_heads;
  config.head_dim = static_cast<std::size_t>(text.optional_int("head_dim", 256, kHeadSize));
  config.global_head_dim = static_cast<std::size_t>(text.optional_int("global_head_dim", 512, kHeadSize));
  config.rms_norm_eps = static_cast<float>(text.optional_number("rms_norm_eps", 1e-6, io::kAboveZero));
  const bool unified = config.model_type.starts_with("gemma4_unified");
  config.context = size_field(text, "max_position_embeddings", unified ? 262144 : 131072);
  config.sliding_window = size_field(text, "sliding_window", unified ? 1024 : 512);
  config.sliding_rope = read_rope(text, "sliding_attention", {.theta = 1e4}, "default");
  config.full_rope =
      read_rope(text, "full_attention", {.theta = 1e6, .partial_factor = 0.25}, "proportional");
  config.layer_types = read_layer_types(text, config.layers);
  config.kv_shared_layers =
      static_cast<std::size_t>(text.optional_int("num_kv_shared_layers", 0, kSizeOrZero));
  config.double_wide_mlp = text.optional_bool("use_double_wide_mlp", false);
  config.per_layer_width = static_cast<std::size_t>(
      text.optional_int("hidden_size_per_layer_input", unified ? 0 : 256, kSizeOrZero));
  if (text.json().contains("hidden_size_per_layer_input") && !text.has("hidden_size_per_layer_input"))
    config.per_layer_width = 0;  // null switches per-layer inputs off
  config.per_layer_vocabulary = size_field(text, "vocab_size_per_layer_input", 262144);
  config.moe = read_moe(text);
  if (const auto cap = text.find_number("final_logit_softcapping", io::kAboveZero))
    config.logit_softcap = static_cast<float>(*cap);
  config.pad_token = static_cast<std::int32_t>(text.optional_int("pad_token_id", 0, kSizeOrZero));
  config.tied_head =
      root.optional_bool("tie_word_embeddings", text.optional_bool("tie_word_embeddings", true));
  config.media_tokens = read_media_tokens(root);
  for (std::size_t kv_heads : {config.kv_heads, config.global_kv_heads})
    if (config.heads % kv_heads != 0)
      throw text.unexpected("num_attention_heads", fmt::format("a multiple of the {} key heads", kv_heads));
  check_sharing(text, config);
  return config;
}

}  // namespace lanner::models::gemma4
