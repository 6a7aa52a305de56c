// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "layers/lora.h"
#include "models/model.h"

namespace lanner::models {

/// A LoRA adapter read for one model. Immutable; owns its memory.
struct Adapter {
  std::shared_ptr<const layers::LoraWeights> weights;
  std::string content_hash;          ///< of factors and scales: equal adapters have equal ones
  std::size_t rank = 0;              ///< the largest of its modules
  std::size_t modules = 0;           ///< linears it changes
  std::size_t layers = 0;            ///< layers they are in
  std::vector<std::string> targets;  ///< their kinds, sorted: "mlp.down_proj"
  std::size_t size_bytes = 0;        ///< of the factors
  std::vector<std::string> remarks;  ///< what its owner may want to know, a sentence each
};

/// Reads a folder that PEFT (adapter_model.safetensors) or mlx-lm (adapters.safetensors) wrote, with
/// adapter_config.json, and checks all of it against the model: every tensor must be a factor of one of its
/// targets and fit it. Factors keep their type (F32, F16, BF16). Those of keys and values that a layer does
/// not compute, because it shares another layer's, are left out with a remark. Throws Error kNotFound;
/// kUnsupported for what is not plain LoRA of a target, naming it, and for a model on a GPU; kCorrupt for
/// everything that does not fit together, naming file, tensor, what was found and expected.
Adapter read_adapter(const std::filesystem::path& folder, const Model& model, const device::Ops& ops);

}  // namespace lanner::models
