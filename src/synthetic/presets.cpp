// SPDX-License-Identifier: MIT
#include "synthetic/presets.h"

#include <algorithm>
#include <array>
#include <string>

namespace lanner::synthetic {
namespace {

struct GemmaSize {
  std::string_view name;
  int hidden, layers, pattern, window;
  int heads, kv_heads, full_kv_heads;  ///< full_kv_heads 0: as the sliding layers, with values of their own
  int width, shared_layers, per_layer_width;
  int experts, top_k, expert_width;
  int context;
};

constexpr std::array kGemmaSizes = {
    GemmaSize{"gemma4-e2b", 1536, 35, 5, 512, 8, 1, 0, 6144, 20, 256, 0, 0, 0, 131072},
    GemmaSize{"gemma4-e4b", 2560, 42, 6, 512, 8, 2, 0, 10240, 18, 256, 0, 0, 0, 131072},
    GemmaSize{"gemma4-12b", 3840, 48, 6, 1024, 16, 8, 1, 15360, 0, 0, 0, 0, 0, 262144},
    GemmaSize{"gemma4-26b-a4b", 2816, 30, 6, 1024, 16, 8, 2, 2112, 0, 0, 128, 8, 704, 262144},
    GemmaSize{"gemma4-31b", 5376, 60, 6, 1024, 32, 16, 4, 21504, 0, 0, 0, 0, 0, 262144}};

struct QwenSize {
  std::string_view name;
  int hidden, layers, width;  ///< width 0: mixture of experts
  int heads, kv_heads, value_heads;
  int experts, top_k, expert_width;
  bool tied;
};

constexpr std::array kQwenSizes = {QwenSize{"qwen3.5-0.8b", 1024, 24, 3584, 8, 2, 16, 0, 0, 0, true},
                                   QwenSize{"qwen3.5-2b", 2048, 24, 6144, 8, 2, 16, 0, 0, 0, true},
                                   QwenSize{"qwen3.5-4b", 2560, 32, 9216, 16, 4, 32, 0, 0, 0, true},
                                   QwenSize{"qwen3.5-9b", 4096, 32, 12288, 16, 4, 32, 0, 0, 0, false},
                                   QwenSize{"qwen3.5-27b", 5120, 64, 17408, 24, 4, 48, 0, 0, 0, false},
                                   QwenSize{"qwen3.5-35b-a3b", 2048, 40, 0, 16, 2, 32, 256, 8, 512, false}};

/// Every `interval`-th layer is `special`.
io::Json layer_types(int layers, int interval, const char* usual, const char* special) {
  io::Json types = io::Json::array();
  for (int i = 1; i <= layers; ++i) types.push_back(i % interval == 0 ? special : usual);
  return types;
}

io::Json gemma_config(const GemmaSize& size) {
  const bool unified = size.name == "gemma4-12b";
  const bool keys_are_values = size.full_kv_heads != 0;
  io::Json text = {
      {"model_type", unified ? "gemma4_unified_text" : "gemma4_text"},
      {"attention_bias", false},
      {"attention_k_eq_v", keys_are_values},
      {"bos_token_id", 2},
      {"dtype", "bfloat16"},
      {"enable_moe_block", size.experts != 0},
      {"eos_token_id", 1},
      {"final_logit_softcapping", 30.0},
      {"global_head_dim", 512},
      {"head_dim", 256},
      {"hidden_activation", "gelu_pytorch_tanh"},
      {"hidden_size", size.hidden},
      {"hidden_size_per_layer_input", size.per_layer_width},
      {"intermediate_size", size.width},
      {"layer_types", layer_types(size.layers, size.pattern, "sliding_attention", "full_attention")},
      {"max_position_embeddings", size.context},
      {"num_attention_heads", size.heads},
      {"num_global_key_value_heads", keys_are_values ? io::Json(size.full_kv_heads) : io::Json()},
      {"num_hidden_layers", size.layers},
      {"num_key_value_heads", size.kv_heads},
      {"num_kv_shared_layers", size.shared_layers},
      {"pad_token_id", 0},
      {"rms_norm_eps", 1e-6},
      {"rope_parameters",
       {{"full_attention",
         {{"partial_rotary_factor", 0.25}, {"rope_theta", 1000000.0}, {"rope_type", "proportional"}}},
        {"sliding_attention", {{"rope_theta", 10000.0}, {"rope_type", "default"}}}}},
      {"sliding_window", size.window},
      {"tie_word_embeddings", true},
      {"use_double_wide_mlp", size.name == "gemma4-e2b"},
      {"vocab_size", 262144},
      {"vocab_size_per_layer_input", 262144}};
  if (size.experts != 0) {
    text["num_experts"] = size.experts;
    text["top_k_experts"] = size.top_k;
    text["moe_intermediate_size"] = size.expert_width;
  }
  return {{"architectures",
           {unified ? "Gemma4UnifiedForConditionalGeneration" : "Gemma4ForConditionalGeneration"}},
          {"dtype", "bfloat16"},
          {"model_type", unified ? "gemma4_unified" : "gemma4"},
          {"text_config", text},
          {"tie_word_embeddings", true}};
}

io::Json qwen_config(const QwenSize& size) {
  const bool moe = size.experts != 0;
  io::Json text = {{"model_type", moe ? "qwen3_5_moe_text" : "qwen3_5_text"},
                   {"attention_bias", false},
                   {"attn_output_gate", true},
                   {"dtype", "bfloat16"},
                   {"full_attention_interval", 4},
                   {"head_dim", 256},
                   {"hidden_act", "silu"},
                   {"hidden_size", size.hidden},
                   {"layer_types", layer_types(size.layers, 4, "linear_attention", "full_attention")},
                   {"linear_conv_kernel_dim", 4},
                   {"linear_key_head_dim", 128},
                   {"linear_num_key_heads", 16},
                   {"linear_num_value_heads", size.value_heads},
                   {"linear_value_head_dim", 128},
                   {"mamba_ssm_dtype", "float32"},
                   {"max_position_embeddings", 262144},
                   {"mtp_num_hidden_layers", 1},
                   {"mtp_use_dedicated_embeddings", false},
                   {"num_attention_heads", size.heads},
                   {"num_hidden_layers", size.layers},
                   {"num_key_value_heads", size.kv_heads},
                   {"partial_rotary_factor", 0.25},
                   {"rms_norm_eps", 1e-6},
                   {"rope_parameters",
                    {{"mrope_interleaved", true},
                     {"mrope_section", {11, 11, 10}},
                     {"partial_rotary_factor", 0.25},
                     {"rope_theta", 10000000},
                     {"rope_type", "default"}}},
                   {"tie_word_embeddings", size.tied},
                   {"vocab_size", 248320}};
  if (moe) {
    text["num_experts"] = size.experts;
    text["num_experts_per_tok"] = size.top_k;
    text["moe_intermediate_size"] = size.expert_width;
    text["shared_expert_intermediate_size"] = size.expert_width;
  } else {
    text["intermediate_size"] = size.width;
  }
  return {{"architectures", {moe ? "Qwen3_5MoeForConditionalGeneration" : "Qwen3_5ForConditionalGeneration"}},
          {"model_type", moe ? "qwen3_5_moe" : "qwen3_5"},
          {"text_config", text},
          {"tie_word_embeddings", size.tied}};
}

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  names.reserve(kGemmaSizes.size() + kQwenSizes.size());
  for (const GemmaSize& size : kGemmaSizes) names.push_back(size.name);
  for (const QwenSize& size : kQwenSizes) names.push_back(size.name);
  return names;
}

std::optional<io::Json> preset_config(std::string_view name) {
  for (const GemmaSize& size : kGemmaSizes)
    if (size.name == name) return gemma_config(size);
  for (const QwenSize& size : kQwenSizes)
    if (size.name == name) return qwen_config(size);
  return std::nullopt;
}

}  // namespace lanner::synthetic
