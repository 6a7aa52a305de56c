// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/loaded_model.h"

namespace lanner::test {

/// The embedded model of a family ("tale-gemma4", "tale-qwen3_5"), loaded once per program for each way of
/// computing and storing. `how.isa` is ignored: this machine's best is used.
std::shared_ptr<const engine::LoadedModel> tale(const std::string& name, engine::LoadOptions how = {});

/// The same with room for `context` tokens, so that an answer that ignores its ends lasts. Loaded once
/// per program and context, in exact arithmetic.
std::shared_ptr<const engine::LoadedModel> tale_of_context(const std::string& name, std::size_t context);

inline constexpr const char* kTaleNames[] = {"tale-gemma4", "tale-qwen3_5"};

/// A tiny random checkpoint of tests/golden/models ("gemma4/g3_moe") with a tale model's tokenizer: only ids
/// below 320 exist. Loaded once per program.
std::shared_ptr<const engine::LoadedModel> random_model(const std::string& name,
                                                        engine::LoadOptions how = {});

inline constexpr std::size_t kRandomVocabulary = 320;

/// Both tale models, and random ones with windows of 16 and 20, shared layers, experts and grouped heads.
std::vector<std::shared_ptr<const engine::LoadedModel>> all_models();

/// Some of them with int8 activations and with quantized keys and values.
std::vector<std::shared_ptr<const engine::LoadedModel>> quantized_variants();

/// Folder, arithmetic and storage, for messages.
std::string describe(const engine::LoadedModel& model);

/// Ids below which a model of these has logits and tokens with a text.
std::size_t usable_vocabulary(const engine::LoadedModel& model);

}  // namespace lanner::test
