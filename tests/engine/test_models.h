// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/loaded_model.h"

namespace lanner::test {

/// The embedded model of a family ("tale-gemma4", "tale-qwen3_5"), loaded once per program.
std::shared_ptr<const engine::LoadedModel> tale(const std::string& name);

inline constexpr const char* kTaleNames[] = {"tale-gemma4", "tale-qwen3_5"};

/// A tiny random checkpoint of tests/golden/models ("gemma4/g3_moe") with a tale model's tokenizer: only ids
/// below 320 exist. Loaded once per program.
std::shared_ptr<const engine::LoadedModel> random_model(const std::string& name);

inline constexpr std::size_t kRandomVocabulary = 320;

/// Both tale models, and random ones with windows of 16 and 20, shared layers, experts and grouped heads.
std::vector<std::shared_ptr<const engine::LoadedModel>> all_models();

}  // namespace lanner::test
