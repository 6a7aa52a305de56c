// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/grammar_cache.h"
#include "server/request_rules.h"

namespace lanner::server {

/// A loaded model with its engine, and what clients are told about it.
struct ServedModel {
  std::shared_ptr<const engine::LoadedModel> model;
  std::unique_ptr<engine::Engine> engine;
  RequestRules rules;
  std::shared_ptr<engine::GrammarCache> grammars;
  std::string fingerprint;   ///< "fp_...": changes with the build and the checkpoint
  std::int64_t created = 0;  ///< seconds since 1970
};

/// Starts an engine. `rules`: the server's defaults; what the model determines (vocabulary, context,
/// sampling) is filled in.
std::shared_ptr<ServedModel> serve_model(std::shared_ptr<const engine::LoadedModel> model,
                                         const engine::EngineOptions& options, RequestRules rules);

}  // namespace lanner::server
