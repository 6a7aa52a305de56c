// SPDX-License-Identifier: MIT
#include "models/qwen3_5/qwen3_5_config.h"
#include "synthetic/tensor_list.h"

namespace lanner::synthetic {
namespace {

using models::qwen3_5::Config;
using models::qwen3_5::LayerType;

class Layer {
 public:
  Layer(TensorList& list, const Config& config, std::string path)
      : list_(list), config_(config), path_(std::move(path)) {}

  void norms() {
    list_.constant(path_ + "input_layernorm.weight", config_.hidden_size, 1);
    list_.constant(path_ + "post_attention_layernorm.weight", config_.hidden_size, 1);
  }

  void attention() {
    const std::size_t hidden = config_.hidden_size;
    const std::size_t width = config_.heads * config_.head_dim;
    const std::size_t kv_width = config_.kv_heads * config_.head_dim;
    const std::string path = path_ + "self_attn.";
    list_.matrix(path + "q_proj", 2 * width, hidden);
    list_.matrix(path + "k_proj", kv_width, hidden);
    list_.matrix(path + "v_proj", kv_width, hidden);
    list_.matrix(path + "o_proj", hidden, width);
    list_.constant(path + "q_norm.weight", config_.head_dim, 1);
    list_.constant(path + "k_norm.weight", config_.head_dim, 1);
  }

  void delta_net() {
    const cache::RecurrentSpec& shape = config_.delta_net;
    const std::size_t hidden = config_.hidden_size;
    const std::size_t value_width = shape.value_heads * shape.value_dim;
    const std::string path = path_ + "linear_attn.";
    list_.matrix(path + "in_proj_qkv", shape.conv_channels(), hidden);
    list_.matrix(path + "in_proj_z", value_width, hidden);
    list_.matrix(path + "in_proj_b", shape.value_heads, hidden);
    list_.matrix(path + "in_proj_a", shape.value_heads, hidden);
    list_.matrix(path + "out_proj", hidden, value_width);
    const float bound = std::sqrt(3.0F / static_cast<float>(shape.taps));
    list_.add({.name = path + "conv1d.weight",
               .module = {},
               .shape = {static_cast<std::int64_t>(shape.conv_channels()),
                         static_cast<std::int64_t>(shape.taps), 1},
               .dtype = DType::kBF16,
               .low = -bound,
               .high = bound});
    // Decays of 0.6 to 0.99 a token: the state forgets over a few to a few hundred tokens.
    list_.vector(path + "A_log", shape.value_heads, -2.0F, 2.0F, DType::kF32);
    list_.constant(path + "dt_bias", shape.value_heads, -2.5F);
    list_.constant(path + "norm.weight", shape.value_dim, 1);
  }

  void feed_forward() {
    if (!config_.moe) return mlp("mlp", config_.intermediate_size);
    const auto& moe = *config_.moe;
    const std::size_t hidden = config_.hidden_size;
    list_.matrix(path_ + "mlp.gate", moe.experts, hidden);
    const std::string stack = path_ + "mlp.switch_mlp.";
    list_.experts(stack + "gate_proj", moe.experts, moe.intermediate_size, hidden);
    list_.experts(stack + "up_proj", moe.experts, moe.intermediate_size, hidden);
    list_.experts(stack + "down_proj", moe.experts, hidden, moe.intermediate_size);
    mlp("mlp.shared_expert", moe.shared_intermediate_size);
    list_.matrix(path_ + "mlp.shared_expert_gate", 1, hidden);
  }

 private:
  void mlp(const std::string& name, std::size_t width) {
    list_.matrix(fmt::format("{}{}.gate_proj", path_, name), width, config_.hidden_size);
    list_.matrix(fmt::format("{}{}.up_proj", path_, name), width, config_.hidden_size);
    list_.matrix(fmt::format("{}{}.down_proj", path_, name), config_.hidden_size, width);
  }

  TensorList& list_;
  const Config& config_;
  std::string path_;
};

void multi_token_prediction(TensorList& list, const Config& config) {
  const std::size_t hidden = config.hidden_size;
  list.matrix("mtp.fc", hidden, 2 * hidden);
  for (const char* name : {"mtp.norm", "mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden"})
    list.constant(fmt::format("{}.weight", name), hidden, 1);
  Layer layer(list, config, "mtp.layers.0.");
  layer.norms();
  layer.attention();
  layer.feed_forward();
}

}  // namespace

std::vector<SyntheticTensor> qwen3_5_tensors(const io::Json& config_json) {
  const io::Fields root(config_json, "config.json");
  const Config config = models::qwen3_5::read_config(root);
  TensorList list;
  const std::string text = "language_model.model.";
  list.matrix(text + "embed_tokens", config.vocabulary, config.hidden_size);
  if (!config.tied_head) list.matrix("language_model.lm_head", config.vocabulary, config.hidden_size);
  for (std::size_t index = 0; index < config.layers; ++index) {
    Layer layer(list, config, fmt::format("{}layers.{}.", text, index));
    layer.norms();
    if (config.layer_types[index] == LayerType::kFull)
      layer.attention();
    else
      layer.delta_net();
    layer.feed_forward();
  }
  list.constant(text + "norm.weight", config.hidden_size, 1);
  const io::Fields fields = root.find_object("text_config").value_or(root);
  if (fields.optional_int("mtp_num_hidden_layers", 0, io::kNotNegative) > 0)
    multi_token_prediction(list, config);
  return list.take();
}

}  // namespace lanner::synthetic
