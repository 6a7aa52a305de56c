// SPDX-License-Identifier: MIT
#include "engine/model_report.h"

#include <doctest/doctest.h>

namespace lanner::engine {

TEST_CASE("a weight's path tells its group") {
  CHECK(weight_group_name("embed_tokens") == "embeddings");
  CHECK(weight_group_name("embed_tokens_per_layer") == "per-layer embeddings");
  CHECK(weight_group_name("layers.3.per_layer_input_gate") == "per-layer inputs");
  CHECK(weight_group_name("layers.3.self_attn.q_proj") == "attention");
  CHECK(weight_group_name("layers.3.self_attn.q_norm.weight") == "norms");
  CHECK(weight_group_name("layers.3.linear_attn.in_proj_qkv") == "delta net");
  CHECK(weight_group_name("layers.3.linear_attn.norm.weight") == "norms");
  CHECK(weight_group_name("layers.3.mlp.down_proj") == "mlp");
  CHECK(weight_group_name("layers.3.mlp.gate_proj") == "mlp");
  CHECK(weight_group_name("layers.3.mlp.gate") == "router");
  CHECK(weight_group_name("layers.3.router.proj") == "router");
  CHECK(weight_group_name("layers.3.mlp.experts.gate_up_proj") == "experts");
  CHECK(weight_group_name("layers.3.mlp.switch_mlp.up_proj") == "experts");
  CHECK(weight_group_name("layers.3.mlp.shared_expert_gate") == "shared expert");
  CHECK(weight_group_name("lm_head") == "head");
  CHECK(weight_group_name("norm.weight") == "norms");
  CHECK(weight_group_name("layers.3.input_layernorm.weight") == "norms");
  CHECK(weight_group_name("layers.3.layer_scalar") == "scalars");
}

TEST_CASE("formats read as people say them") {
  using device::WeightFormat;
  CHECK(format_name({WeightFormat::kDense, DType::kBF16, 16, 0}) == "bf16");
  CHECK(format_name({WeightFormat::kAffine, DType::kBF16, 4, 64}) == "affine 4-bit group 64");
  CHECK(format_name({WeightFormat::kMxfp4, DType::kBF16, 4, 32}) == "mxfp4");
}

TEST_CASE("layers count by what they keep; shared ones by their donor") {
  const std::vector<cache::LayerSpec> layers = {
      cache::SlidingSpec{.kv_heads = 2, .head_dim = 64, .window = 128},
      cache::FullSpec{.kv_heads = 1, .head_dim = 128}, cache::SharedSpec{.donor = 0},
      cache::SharedSpec{.donor = 1},
      cache::RecurrentSpec{.taps = 4, .key_heads = 2, .value_heads = 4, .key_dim = 64, .value_dim = 64}};
  const LayerKinds kinds = layer_kinds(layers);
  CHECK(kinds.all() == 5);
  CHECK(kinds.sliding == 1);
  CHECK(kinds.full == 1);
  CHECK(kinds.shared_sliding == 1);
  CHECK(kinds.shared_full == 1);
  CHECK(kinds.recurrent == 1);
  CHECK(kinds.window == 128);
  const SequenceBytes bytes = sequence_bytes(layers, 4);
  CHECK(bytes.per_token == 2 * 128 * 4);
  CHECK(bytes.sliding_per_token == 2 * 2 * 64 * 4);
  CHECK(bytes.fixed == 4 * (3 * (2 * 2 * 64 + 4 * 64) + 4 * 64 * 64));
}

}  // namespace lanner::engine
