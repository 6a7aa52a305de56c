// SPDX-License-Identifier: MIT
#include "models/gemma4/gemma4_config.h"
#include "synthetic/tensor_list.h"

namespace lanner::synthetic {
namespace {

using models::gemma4::Config;
using models::gemma4::LayerType;

class Layer {
 public:
  Layer(TensorList& list, const Config& config, std::size_t index, const std::string& path)
      : list_(list), config_(config), index_(index), path_(path) {}

  void attention() {
    const std::size_t head_dim = config_.head_dim_of(index_);
    const std::size_t hidden = config_.hidden_size;
    // Scores are not scaled by the head size here, so the gains keep them near a standard deviation of 1.
    const float gain = std::pow(static_cast<float>(head_dim), -0.25F);
    list_.matrix(path_ + "self_attn.q_proj", config_.heads * head_dim, hidden);
    list_.matrix(path_ + "self_attn.o_proj", hidden, config_.heads * head_dim);
    list_.constant(path_ + "self_attn.q_norm.weight", head_dim, gain);
    if (config_.shares_kv(index_)) return;
    const std::size_t width = config_.kv_heads_of(index_) * head_dim;
    list_.matrix(path_ + "self_attn.k_proj", width, hidden);
    if (!(config_.keys_are_values && config_.layer_types[index_] == LayerType::kFull))
      list_.matrix(path_ + "self_attn.v_proj", width, hidden);
    list_.constant(path_ + "self_attn.k_norm.weight", head_dim, gain);
  }

  void feed_forward() {
    const std::size_t width = config_.intermediate_of(index_);
    list_.matrix(path_ + "mlp.gate_proj", width, config_.hidden_size);
    list_.matrix(path_ + "mlp.up_proj", width, config_.hidden_size);
    list_.matrix(path_ + "mlp.down_proj", config_.hidden_size, width);
    for (const char* name : {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                             "post_feedforward_layernorm"})
      norm(name);
    list_.constant(path_ + "layer_scalar", 1, 1);
  }

  void experts() {
    const auto& moe = *config_.moe;
    const std::size_t hidden = config_.hidden_size;
    list_.matrix(path_ + "router.proj", moe.experts, hidden);
    list_.constant(path_ + "router.scale", hidden, 1);
    list_.constant(path_ + "router.per_expert_scale", moe.experts, 1);
    const std::string stack = path_ + "experts.switch_glu.";
    list_.experts(stack + "gate_proj", moe.experts, moe.intermediate_size, hidden);
    list_.experts(stack + "up_proj", moe.experts, moe.intermediate_size, hidden);
    list_.experts(stack + "down_proj", moe.experts, hidden, moe.intermediate_size);
    for (const char* name :
         {"post_feedforward_layernorm_1", "pre_feedforward_layernorm_2", "post_feedforward_layernorm_2"})
      norm(name);
  }

  void per_layer_input() {
    list_.matrix(path_ + "per_layer_input_gate", config_.per_layer_width, config_.hidden_size);
    list_.matrix(path_ + "per_layer_projection", config_.hidden_size, config_.per_layer_width);
    norm("post_per_layer_input_norm");
  }

 private:
  void norm(const char* name) {
    list_.constant(fmt::format("{}{}.weight", path_, name), config_.hidden_size, 1);
  }

  TensorList& list_;
  const Config& config_;
  std::size_t index_;
  std::string path_;
};

}  // namespace

std::vector<SyntheticTensor> gemma4_tensors(const io::Json& config_json) {
  const Config config = models::gemma4::read_config({config_json, "config.json"});
  TensorList list;
  const std::string text = "language_model.model.";
  list.matrix(text + "embed_tokens", config.vocabulary, config.hidden_size);
  if (!config.tied_head) list.matrix("language_model.lm_head", config.vocabulary, config.hidden_size);
  if (config.per_layer_width > 0) {
    const std::size_t width = config.layers * config.per_layer_width;
    // Looked up, not multiplied, and scaled by sqrt(per_layer_width): rows of unit size.
    const float gain = std::sqrt(static_cast<float>(config.layers));
    list.matrix(text + "embed_tokens_per_layer", config.per_layer_vocabulary, width, gain);
    list.matrix(text + "per_layer_model_projection", width, config.hidden_size);
    list.constant(text + "per_layer_projection_norm.weight", config.per_layer_width, 1);
  }
  for (std::size_t index = 0; index < config.layers; ++index) {
    Layer layer(list, config, index, fmt::format("{}layers.{}.", text, index));
    layer.attention();
    layer.feed_forward();
    if (config.moe) layer.experts();
    if (config.per_layer_width > 0) layer.per_layer_input();
  }
  list.constant(text + "norm.weight", config.hidden_size, 1);
  return list.take();
}

}  // namespace lanner::synthetic
