// SPDX-License-Identifier: MIT
#include "engine/prefix_key.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace lanner::engine {
namespace {

LoadedModel tale(const char* name, const LoadOptions& options = {}) {
  return LoadedModel(std::filesystem::path(LANNER_MODELS_DIR) / name, options);
}

}  // namespace

TEST_CASE("the key of snapshots tells models, arithmetic and storage apart, and nothing else") {
  const LoadedModel gemma = tale("tale-gemma4");
  CHECK(prefix_key(gemma) == prefix_key(tale("tale-gemma4", {.threads = 2})));
  CHECK(prefix_key(gemma).model != prefix_key(tale("tale-qwen3_5")).model);
  CHECK(prefix_key(gemma).model !=
        prefix_key(tale("tale-gemma4", {.compute = device::Compute::kInt8})).model);
  CHECK(prefix_key(tale("tale-qwen3_5")).model.ends_with(" chunk 32"));
  CHECK(prefix_key(gemma).kv_types == "bf16");
  CHECK(prefix_key(tale("tale-gemma4", {.kv_type = device::KvType::kAffine4})).kv_types == "q4");
  CHECK(kv_types_name({.layers = {},
                       .kv_type = device::KvType::kF32,
                       .layer_kv_types = {{3, device::KvType::kAffine8}}}) == "f32 3:q8");
}

}  // namespace lanner::engine
