// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "models/model.h"

namespace lanner::models {

/// Builds the model that config.json's model_type asks for, its weights left where the checkpoint is mapped.
/// Throws Error kUnsupported for a model_type lanner does not run, naming those it does; else as the family's
/// loader.
std::unique_ptr<Model> load_model(const io::Checkpoint& checkpoint, const LoadTarget& target);

}  // namespace lanner::models
