// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "core/float_convert.h"
#include "models/gemma4/gemma4_model.h"
#include "models/unused_parts.h"

namespace lanner::models::gemma4 {
namespace {

// Towers of multimodal checkpoints in both naming worlds; rotary tables are recomputed, so old copies are
// ignored.
constexpr KnownPart kOtherParts[] = {
    {"vision_tower.", "vision tower"},    {"embed_vision.", "vision tower"},
    {"vision_embedder.", "vision tower"}, {"audio_tower.", "audio tower"},
    {"embed_audio.", "audio tower"},      {"rotary_emb.", ""},
};

constexpr std::string_view kHidden = "hidden_size in config.json";

Shape vector_shape(std::size_t n) { return {static_cast<std::int64_t>(n)}; }

/// Loads the weights of one layer; `path` is "layers.N".
class LayerWeights {
 public:
  LayerWeights(WeightLoader& loader, const Config& config, std::size_t layer)
      : loader_(loader), config_(config), layer_(layer), path_(fmt::format("layers.{}", layer)) {}

  RmsNorm norm(std::string_view name, std::size_t width) {
    return {.weight = loader_.place(
                loader_.floats(fmt::format("{}.{}.weight", path_, name), vector_shape(width), kHidden)),
            .eps = config_.rms_norm_eps};
  }

  Linear linear(std::string_view name, std::size_t out, std::size_t in, std::string_view why) {
    return loader_.linear(fmt::format("{}.{}", path_, name), out, in, why);
  }

  float scalar(std::string_view name) {
    return loader_.floats(fmt::format("{}.{}", path_, name), vector_shape(1), "one scalar").floats()[0];
  }

  Attention attention(const layers::Rope* rope) {
    const std::size_t head_dim = config_.head_dim_of(layer_);
    const std::size_t width = config_.heads * head_dim;
    const bool full = config_.layer_types[layer_] == LayerType::kFull;
    const std::string why = fmt::format("num_attention_heads {} × {} {} in config.json", config_.heads,
                                        full ? "global_head_dim" : "head_dim", head_dim);
    Attention attention{.layer = layer_,
                        .heads = config_.heads,
                        .head_dim = head_dim,
                        .q_proj = linear("self_attn.q_proj", width, config_.hidden_size, why),
                        .q_norm = norm("self_attn.q_norm", head_dim),
                        .own = std::nullopt,
                        .o_proj = linear("self_attn.o_proj", config_.hidden_size, width, why),
                        .rope = rope};
    if (!config_.shares_kv(layer_)) {
      attention.own = key_value(head_dim, full);
    } else {
      // Released files carry key and value weights that sharing layers must not use.
      for (std::string_view unused : {"k_proj.", "v_proj.", "k_norm."})
        loader_.ignore(fmt::format("{}.self_attn.{}", path_, unused));
    }
    return attention;
  }

  layers::FeedForward mlp() {
    const std::size_t width = config_.intermediate_of(layer_);
    const std::string why =
        fmt::format("intermediate_size {} in config.json{}", config_.intermediate_size,
                    width == config_.intermediate_size ? "" : " doubled by use_double_wide_mlp");
    return {.gate = linear("mlp.gate_proj", width, config_.hidden_size, why),
            .up = linear("mlp.up_proj", width, config_.hidden_size, why),
            .down = linear("mlp.down_proj", config_.hidden_size, width, why),
            .activation = device::GatedActivation::kGeluTanh};
  }

  DenseFfn dense_ffn() {
    return {.pre_norm = norm("pre_feedforward_layernorm", config_.hidden_size),
            .mlp = mlp(),
            .post_norm = norm("post_feedforward_layernorm", config_.hidden_size)};
  }

  MoeFfn moe_ffn(const MoeConfig& moe) {
    const std::size_t hidden = config_.hidden_size;
    return {.pre_norm = norm("pre_feedforward_layernorm", hidden),
            .mlp = mlp(),
            .post_norm_dense = norm("post_feedforward_layernorm_1", hidden),
            .router_norm = router_norm(),
            .router_proj = linear("router.proj", moe.experts, hidden, "num_experts in config.json"),
            .expert_scale =
                loader_.place(loader_.floats(fmt::format("{}.router.per_expert_scale", path_),
                                             vector_shape(moe.experts), "num_experts in config.json")),
            .top_k = moe.top_k,
            .pre_norm_experts = norm("pre_feedforward_layernorm_2", hidden),
            .experts = experts(moe),
            .post_norm_experts = norm("post_feedforward_layernorm_2", hidden),
            .post_norm = norm("post_feedforward_layernorm", hidden)};
  }

  PerLayerInput per_layer_input() {
    const std::size_t width = config_.per_layer_width;
    constexpr std::string_view kWhy = "hidden_size_per_layer_input and hidden_size in config.json";
    return {.gate = linear("per_layer_input_gate", width, config_.hidden_size, kWhy),
            .projection = linear("per_layer_projection", config_.hidden_size, width, kWhy),
            .norm = norm("post_per_layer_input_norm", config_.hidden_size)};
  }

 private:
  KeyValue key_value(std::size_t head_dim, bool full) {
    const std::size_t heads = config_.kv_heads_of(layer_);
    const std::string why =
        fmt::format("{} {} × head size {} in config.json",
                    full && config_.keys_are_values ? "num_global_key_value_heads" : "num_key_value_heads",
                    heads, head_dim);
    KeyValue kv{.k_proj = linear("self_attn.k_proj", heads * head_dim, config_.hidden_size, why),
                .v_proj = std::nullopt,
                .k_norm = norm("self_attn.k_norm", head_dim),
                .v_norm = {.weight = {}, .eps = config_.rms_norm_eps},
                .heads = heads};
    if (!(full && config_.keys_are_values))
      kv.v_proj = linear("self_attn.v_proj", heads * head_dim, config_.hidden_size, why);
    return kv;
  }

  /// norm without gain, then scale [H] and H^-1/2: one norm whose gain is their product.
  RmsNorm router_norm() {
    RmsNorm norm{.weight = loader_.floats(fmt::format("{}.router.scale", path_),
                                          vector_shape(config_.hidden_size), kHidden),
                 .eps = config_.rms_norm_eps};
    const float root = 1.0F / std::sqrt(static_cast<float>(config_.hidden_size));
    for (float& gain : norm.weight.floats()) gain *= root;
    norm.weight = loader_.place(norm.weight);
    return norm;
  }

  layers::Experts experts(const MoeConfig& moe) {
    const std::size_t width = moe.intermediate_size;
    const std::size_t hidden = config_.hidden_size;
    constexpr std::string_view kWhy = "num_experts, moe_intermediate_size and hidden_size in config.json";
    constexpr auto kActivation = device::GatedActivation::kGeluTanh;
    const std::string fused = path_ + ".experts.gate_up_proj";
    if (loader_.has(fused))
      return {.gate = loader_.expert_rows(fused, moe.experts, 2 * width, 0, width, hidden, kWhy),
              .up = loader_.expert_rows(fused, moe.experts, 2 * width, width, width, hidden, kWhy),
              .down = loader_.experts(path_ + ".experts.down_proj", moe.experts, hidden, width, kWhy),
              .activation = kActivation};
    const std::string stacked = path_ + ".experts.switch_glu";
    return {.gate = loader_.experts(stacked + ".gate_proj", moe.experts, width, hidden, kWhy),
            .up = loader_.experts(stacked + ".up_proj", moe.experts, width, hidden, kWhy),
            .down = loader_.experts(stacked + ".down_proj", moe.experts, hidden, width, kWhy),
            .activation = kActivation};
  }

  WeightLoader& loader_;
  const Config& config_;
  std::size_t layer_;
  std::string path_;
};

cache::LayerSpec cache_spec(const Config& config, std::size_t layer) {
  if (config.shares_kv(layer)) return cache::SharedSpec{.donor = config.donor(layer)};
  if (config.layer_types[layer] == LayerType::kFull)
    return cache::FullSpec{.kv_heads = config.kv_heads_of(layer), .head_dim = config.head_dim_of(layer)};
  return cache::SlidingSpec{.kv_heads = config.kv_heads_of(layer),
                            .head_dim = config.head_dim_of(layer),
                            .window = config.sliding_window};
}

std::unique_ptr<layers::Rope> make_rope(std::size_t head_dim, const RopeParameters& parameters) {
  // "Proportional" turns the first pairs only, with frequencies spread over the whole head.
  const auto turning =
      static_cast<std::size_t>(parameters.partial_factor * static_cast<double>(head_dim)) / 2;
  std::vector<float> frequencies = layers::inverse_frequencies(parameters.theta, turning, head_dim);
  for (float& frequency : frequencies) frequency /= static_cast<float>(parameters.factor);
  return std::make_unique<layers::Rope>(head_dim, head_dim / 2, std::move(frequencies));
}

}  // namespace

Gemma4Model::Gemma4Model(const io::Checkpoint& checkpoint, const LoadTarget& target)
    : config_(read_config(checkpoint.config_fields())) {
  WeightLoader loader(checkpoint, target, storage_);
  sliding_rope_ = make_rope(config_.head_dim, config_.sliding_rope);
  full_rope_ = make_rope(config_.global_head_dim, config_.full_rope);
  load_embeddings(loader);
  for (std::size_t layer = 0; layer < config_.layers; ++layer) {
    load_layer(loader, layer);
    cache_layers_.push_back(cache_spec(config_, layer));
  }
  norm_ = {.weight = loader.place(loader.floats("norm.weight", vector_shape(config_.hidden_size), kHidden)),
           .eps = config_.rms_norm_eps};
  describe(loader, checkpoint);
}

void Gemma4Model::load_embeddings(WeightLoader& loader) {
  const std::size_t hidden = config_.hidden_size;
  embed_tokens_ = {.table = loader.matrix("embed_tokens", config_.vocabulary, hidden,
                                          "vocab_size and hidden_size in config.json"),
                   .scale = round_to_bf16(std::sqrt(static_cast<float>(hidden)))};
  if (config_.tied_head) {
    loader.ignore("lm_head.");
    head_ = Linear(loader.for_products(embed_tokens_.table));
  } else {
    head_ = loader.linear("lm_head", config_.vocabulary, hidden, "vocab_size and hidden_size in config.json");
  }
  if (config_.per_layer_width == 0) return;
  const std::size_t width = config_.layers * config_.per_layer_width;
  constexpr std::string_view kWhy = "num_hidden_layers × hidden_size_per_layer_input in config.json";
  per_layer_embedding_ = PerLayerEmbedding{
      .table = {.table =
                    loader.sparse_table("embed_tokens_per_layer", config_.per_layer_vocabulary, width, kWhy),
                .scale = round_to_bf16(std::sqrt(static_cast<float>(config_.per_layer_width)))},
      .projection = loader.linear("per_layer_model_projection", width, hidden, kWhy),
      .projection_scale = 1.0F / std::sqrt(static_cast<float>(hidden)),
      .norm = {.weight = loader.place(loader.floats("per_layer_projection_norm.weight",
                                                    vector_shape(config_.per_layer_width),
                                                    "hidden_size_per_layer_input in config.json")),
               .eps = config_.rms_norm_eps},
      .layers = config_.layers};
}

void Gemma4Model::load_layer(WeightLoader& loader, std::size_t index) {
  LayerWeights weights(loader, config_, index);
  const bool full = config_.layer_types[index] == LayerType::kFull;
  DecoderLayer layer{.input_norm = weights.norm("input_layernorm", config_.hidden_size),
                     .attention = weights.attention(full ? full_rope_.get() : sliding_rope_.get()),
                     .post_attention_norm = weights.norm("post_attention_layernorm", config_.hidden_size),
                     .feed_forward = {},
                     .per_layer_input = std::nullopt,
                     .layer_scalar = weights.scalar("layer_scalar")};
  if (config_.moe)
    layer.feed_forward = weights.moe_ffn(*config_.moe);
  else
    layer.feed_forward = weights.dense_ffn();
  if (config_.per_layer_width > 0) layer.per_layer_input = weights.per_layer_input();
  layers_.push_back(std::move(layer));
}

void Gemma4Model::describe(WeightLoader& loader, const io::Checkpoint& checkpoint) {
  facts_ = {.family = "Gemma 4",
            .model_type = config_.model_type,
            .hidden_size = config_.hidden_size,
            .vocabulary = config_.vocabulary,
            .context = config_.context,
            .tied_head = config_.tied_head,
            .experts = config_.moe ? config_.moe->experts : 0,
            .experts_per_token = config_.moe ? config_.moe->top_k : 0,
            .unused_parts = {},
            .modules = loader.take_modules(),
            .targets = loader.take_targets(),
            .weights = loader.memory()};
  facts_.unused_parts = name_unused_parts(loader.leftovers(), kOtherParts, checkpoint);
}

}  // namespace lanner::models::gemma4
