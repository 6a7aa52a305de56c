// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "cli/console.h"
#include "cli/model_arguments.h"
#include "engine/loaded_model.h"

namespace lanner::cli {

/// Loads the model the user named, with a waiting line on a terminal when it takes long. Throws Error.
std::shared_ptr<const engine::LoadedModel> load_model(const ModelArguments& arguments, Console& console,
                                                      const models::LoadProgress& progress = {});

}  // namespace lanner::cli
