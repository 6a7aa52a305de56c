// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "models/qwen3_5/qwen3_5_model.h"
#include "models/unused_parts.h"

namespace lanner::models::qwen3_5 {
namespace {

constexpr KnownPart kOtherParts[] = {{"visual.", "vision tower"},
                                     {"vision_tower.", "vision tower"},
                                     {"mtp.", "multi-token prediction head"},
                                     {"rotary_emb.", ""}};

constexpr std::string_view kHidden = "hidden_size in config.json";

Shape vector_shape(std::size_t n) { return {static_cast<std::int64_t>(n)}; }

Convention find_convention(const WeightLoader& loader, const Config& config) {
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    const io::TensorEntry* conv = loader.find(fmt::format("layers.{}.linear_attn.conv1d.weight", layer));
    if (conv == nullptr) continue;
    return conv->shape.rank() == 3 && conv->shape[2] == 1 ? Convention::kMlx : Convention::kHuggingFace;
  }
  return Convention::kHuggingFace;
}

/// Loads the weights of one layer; `path` is "layers.N".
class LayerWeights {
 public:
  LayerWeights(WeightLoader& loader, const Config& config, Convention convention, std::size_t layer)
      : loader_(loader),
        config_(config),
        convention_(convention),
        layer_(layer),
        path_(fmt::format("layers.{}", layer)) {}

  /// Gains stored as gain - 1 get their one back in float, where nothing is lost.
  RmsNorm norm(std::string_view name, std::size_t width, std::string_view why = kHidden) {
    RmsNorm norm{.weight = loader_.floats(fmt::format("{}.{}.weight", path_, name), vector_shape(width), why),
                 .eps = config_.rms_norm_eps};
    if (convention_ == Convention::kHuggingFace)
      for (float& gain : norm.weight.floats()) gain += 1.0F;
    norm.weight = loader_.place(norm.weight);
    return norm;
  }

  layers::GatedDeltaNet delta_net() {
    const cache::RecurrentSpec& shape = config_.delta_net;
    const std::size_t hidden = config_.hidden_size;
    const std::size_t value_width = shape.value_heads * shape.value_dim;
    constexpr std::string_view kWhy =
        "linear_num_key_heads, linear_num_value_heads and the linear head sizes in config.json";
    return {.shape = shape,
            .in_qkv = linear("linear_attn.in_proj_qkv", shape.conv_channels(), hidden, kWhy),
            .in_z = linear("linear_attn.in_proj_z", value_width, hidden, kWhy),
            .in_b = linear("linear_attn.in_proj_b", shape.value_heads, hidden, kWhy),
            .in_a = linear("linear_attn.in_proj_a", shape.value_heads, hidden, kWhy),
            .conv = convolution(),
            .a_log = floats("linear_attn.A_log", shape.value_heads, kWhy),
            .dt_bias = floats("linear_attn.dt_bias", shape.value_heads, kWhy),
            .norm = {.weight = floats("linear_attn.norm.weight", shape.value_dim, kWhy),
                     .eps = config_.rms_norm_eps},
            .out = linear("linear_attn.out_proj", hidden, value_width, kWhy)};
  }

  GatedAttention attention(const layers::Rope* rope) {
    const std::size_t hidden = config_.hidden_size;
    const std::size_t width = config_.heads * config_.head_dim;
    const std::size_t kv_width = config_.kv_heads * config_.head_dim;
    const std::string q_why =
        fmt::format("num_attention_heads {} × head_dim {} in config.json, query and gate", config_.heads,
                    config_.head_dim);
    const std::string kv_why = fmt::format("num_key_value_heads {} × head_dim {} in config.json",
                                           config_.kv_heads, config_.head_dim);
    return {.layer = layer_,
            .heads = config_.heads,
            .kv_heads = config_.kv_heads,
            .head_dim = config_.head_dim,
            .q_proj = linear("self_attn.q_proj", 2 * width, hidden, q_why),
            .k_proj = linear("self_attn.k_proj", kv_width, hidden, kv_why),
            .v_proj = linear("self_attn.v_proj", kv_width, hidden, kv_why),
            .q_norm = norm("self_attn.q_norm", config_.head_dim, "head_dim in config.json"),
            .k_norm = norm("self_attn.k_norm", config_.head_dim, "head_dim in config.json"),
            .o_proj = linear("self_attn.o_proj", hidden, width, q_why),
            .rope = rope};
  }

  layers::FeedForward feed_forward(std::string_view name, std::size_t width, std::string_view why) {
    return {.gate = linear(fmt::format("{}.gate_proj", name), width, config_.hidden_size, why),
            .up = linear(fmt::format("{}.up_proj", name), width, config_.hidden_size, why),
            .down = linear(fmt::format("{}.down_proj", name), config_.hidden_size, width, why),
            .activation = device::GatedActivation::kSilu};
  }

  MoeFfn moe(const MoeConfig& moe) {
    MoeFfn ffn = {
        .router = linear("mlp.gate", moe.experts, config_.hidden_size, "num_experts in config.json"),
        .top_k = moe.top_k,
        .experts = experts(moe),
        .shared = feed_forward("mlp.shared_expert", moe.shared_intermediate_size,
                               "shared_expert_intermediate_size in config.json"),
        .shared_gate = linear("mlp.shared_expert_gate", 1, config_.hidden_size, kHidden)};
    if (loader_.routes_experts()) ffn.with_shared = ffn.experts.joined_by(ffn.shared);
    return ffn;
  }

 private:
  Linear linear(std::string_view name, std::size_t out, std::size_t in, std::string_view why) {
    return loader_.linear(fmt::format("{}.{}", path_, name), out, in, why);
  }

  Tensor floats(std::string_view name, std::size_t n, std::string_view why) {
    return loader_.place(loader_.floats(fmt::format("{}.{}", path_, name), vector_shape(n), why));
  }

  /// [channels, 1, taps] or [channels, taps, 1] in the file → [taps, channels].
  Tensor convolution() {
    const auto channels = static_cast<std::int64_t>(config_.delta_net.conv_channels());
    const auto taps = static_cast<std::int64_t>(config_.delta_net.taps);
    const Shape stored =
        convention_ == Convention::kMlx ? Shape{channels, taps, 1} : Shape{channels, 1, taps};
    const Tensor by_channel = loader_.floats(path_ + ".linear_attn.conv1d.weight", stored,
                                             "delta net channels and linear_conv_kernel_dim in config.json");
    const Tensor by_tap = loader_.allocate({taps, channels});
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t k = 0; k < taps; ++k)
        by_tap.floats()[static_cast<std::size_t>(k * channels + c)] =
            by_channel.floats()[static_cast<std::size_t>(c * taps + k)];
    return loader_.place(by_tap);
  }

  layers::Experts experts(const MoeConfig& moe) {
    const std::size_t width = moe.intermediate_size;
    const std::size_t hidden = config_.hidden_size;
    constexpr std::string_view kWhy = "num_experts, moe_intermediate_size and hidden_size in config.json";
    constexpr auto kActivation = device::GatedActivation::kSilu;
    const std::string separate = path_ + ".mlp.experts";
    const std::string fused = separate + ".gate_up_proj";
    const std::string stacked = path_ + ".mlp.switch_mlp";
    if (loader_.has(fused))
      return {.gate = loader_.expert_rows(fused, moe.experts, 2 * width, 0, width, hidden, kWhy),
              .up = loader_.expert_rows(fused, moe.experts, 2 * width, width, width, hidden, kWhy),
              .down = loader_.experts(separate + ".down_proj", moe.experts, hidden, width, kWhy),
              .activation = kActivation};
    if (loader_.has(separate + ".0.gate_proj.weight"))
      return {.gate = loader_.separate_experts(separate, "gate_proj", moe.experts, width, hidden, kWhy),
              .up = loader_.separate_experts(separate, "up_proj", moe.experts, width, hidden, kWhy),
              .down = loader_.separate_experts(separate, "down_proj", moe.experts, hidden, width, kWhy),
              .activation = kActivation};
    return {.gate = loader_.experts(stacked + ".gate_proj", moe.experts, width, hidden, kWhy),
            .up = loader_.experts(stacked + ".up_proj", moe.experts, width, hidden, kWhy),
            .down = loader_.experts(stacked + ".down_proj", moe.experts, hidden, width, kWhy),
            .activation = kActivation};
  }

  WeightLoader& loader_;
  const Config& config_;
  Convention convention_;
  std::size_t layer_;
  std::string path_;
};

/// YaRN blends interpolated and original frequencies between two turning points. Source: Peng et al. 2023.
void apply_yarn(std::vector<float>& frequencies, const RopeParameters& rope) {
  constexpr double kFastRotations = 32;
  constexpr double kSlowRotations = 1;
  const auto rotary_dim = static_cast<double>(2 * frequencies.size());
  const auto dimension = [&](double rotations) {
    return rotary_dim * std::log(rope.yarn->original_context / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  const double low = std::max(std::floor(dimension(kFastRotations)), 0.0);
  const double high = std::min(std::ceil(dimension(kSlowRotations)), rotary_dim - 1);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / std::max(high - low, 1e-3), 0.0, 1.0);
    const double original = frequencies[i];
    frequencies[i] = static_cast<float>(original * (1 - ramp) + original / rope.yarn->factor * ramp);
  }
}

std::unique_ptr<layers::Rope> make_rope(const Config& config) {
  const std::size_t pairs = config.rotary_pairs();
  std::vector<float> frequencies = layers::inverse_frequencies(config.rope.theta, pairs, 2 * pairs);
  float amplitude = 1;
  if (config.rope.yarn) {
    apply_yarn(frequencies, config.rope);
    amplitude = static_cast<float>(0.1 * std::log(config.rope.yarn->factor) + 1);
  }
  auto rope = std::make_unique<layers::Rope>(config.head_dim, pairs, std::move(frequencies), amplitude);
  // Interleaved mRoPE: every third frequency reads the height, the next one the width, while their sections
  // last.
  using Axis = layers::Rope::Axis;
  std::vector<Axis> axes(pairs, Axis::kTime);
  for (std::size_t f = 0; f < pairs; ++f) {
    if (f % 3 == 1 && f < 3 * config.rope.mrope_section[1]) axes[f] = Axis::kHeight;
    if (f % 3 == 2 && f < 3 * config.rope.mrope_section[2]) axes[f] = Axis::kWidth;
  }
  rope->set_axes(axes);
  return rope;
}

}  // namespace

Qwen35Model::Qwen35Model(const io::Checkpoint& checkpoint, const LoadTarget& target)
    : config_(read_config(checkpoint.config_fields())), rope_(make_rope(config_)) {
  config_.delta_net.chunk = target.ops.delta_chunk;
  WeightLoader loader(checkpoint, target, storage_);
  const Convention convention = find_convention(loader, config_);
  load_embeddings(loader, convention);
  for (std::size_t layer = 0; layer < config_.layers; ++layer) {
    load_layer(loader, convention, layer);
    if (config_.layer_types[layer] == LayerType::kFull)
      cache_layers_.emplace_back(cache::FullSpec{.kv_heads = config_.kv_heads, .head_dim = config_.head_dim});
    else
      cache_layers_.emplace_back(config_.delta_net);
  }
  describe(loader, checkpoint);
}

void Qwen35Model::load_embeddings(WeightLoader& loader, Convention convention) {
  constexpr std::string_view kWhy = "vocab_size and hidden_size in config.json";
  const std::size_t hidden = config_.hidden_size;
  embed_tokens_ = {.table = loader.matrix("embed_tokens", config_.vocabulary, hidden, kWhy)};
  if (config_.tied_head) {
    loader.ignore("lm_head.");
    head_ = Linear(loader.for_products(embed_tokens_.table));
  } else {
    head_ = loader.linear("lm_head", config_.vocabulary, hidden, kWhy);
  }
  norm_ = {.weight = loader.floats("norm.weight", vector_shape(hidden), kHidden),
           .eps = config_.rms_norm_eps};
  if (convention == Convention::kHuggingFace)
    for (float& gain : norm_.weight.floats()) gain += 1.0F;
  norm_.weight = loader.place(norm_.weight);
}

void Qwen35Model::load_layer(WeightLoader& loader, Convention convention, std::size_t index) {
  LayerWeights weights(loader, config_, convention, index);
  DecoderLayer layer{.index = index,
                     .input_norm = weights.norm("input_layernorm", config_.hidden_size),
                     .mixer = {},
                     .post_attention_norm = weights.norm("post_attention_layernorm", config_.hidden_size),
                     .feed_forward = {}};
  if (config_.layer_types[index] == LayerType::kFull)
    layer.mixer = weights.attention(rope_.get());
  else
    layer.mixer = weights.delta_net();
  if (config_.moe)
    layer.feed_forward = weights.moe(*config_.moe);
  else
    layer.feed_forward =
        weights.feed_forward("mlp", config_.intermediate_size, "intermediate_size in config.json");
  layers_.push_back(std::move(layer));
}

void Qwen35Model::describe(WeightLoader& loader, const io::Checkpoint& checkpoint) {
  facts_ = {.family = "Qwen 3.5",
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

}  // namespace lanner::models::qwen3_5
