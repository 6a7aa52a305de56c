// SPDX-License-Identifier: MIT
#include "engine/loaded_model.h"

#include "models/model_registry.h"

namespace lanner::engine {

LoadedModel::LoadedModel(const std::filesystem::path& folder, Isa isa)
    : checkpoint_(folder),
      ops_(device::cpu_ops(isa)),
      model_(models::load_model(checkpoint_, ops_)),
      text_(folder),
      defaults_(read_generation_defaults(checkpoint_, text_.tokenizer())) {}

}  // namespace lanner::engine
