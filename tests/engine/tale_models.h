// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "engine/engine.h"
#include "engine/loaded_model.h"

namespace lanner::test {

/// The embedded model of a family ("tale-gemma4", "tale-qwen3_5"), loaded once per program.
inline std::shared_ptr<const engine::LoadedModel> tale(const std::string& name) {
  static std::vector<std::pair<std::string, std::shared_ptr<const engine::LoadedModel>>> loaded;
  for (const auto& [known, model] : loaded)
    if (known == name) return model;
  loaded.emplace_back(name,
                      std::make_shared<engine::LoadedModel>(std::filesystem::path(LANNER_MODELS_DIR) / name,
                                                            engine::LoadOptions{.isa = detect_isa()}));
  return loaded.back().second;
}

inline constexpr const char* kTaleNames[] = {"tale-gemma4", "tale-qwen3_5"};

}  // namespace lanner::test
