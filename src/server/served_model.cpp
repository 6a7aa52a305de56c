// SPDX-License-Identifier: MIT
#include "server/served_model.h"

#include <fmt/format.h>

#include <ctime>
#include <functional>

namespace lanner::server {

std::shared_ptr<ServedModel> serve_model(std::shared_ptr<const engine::LoadedModel> model,
                                         const engine::EngineOptions& options, RequestRules rules) {
  constexpr float kTemperatureWithoutAdvice = 0.7F;
  auto served = std::make_shared<ServedModel>();
  rules.vocabulary = model->model().facts().vocabulary;
  rules.context = model->model().facts().context;
  rules.hidden_size = model->model().facts().hidden_size;
  if (!rules.pooling) rules.pooling = engine::declared_pooling(model->checkpoint());
  rules.sampling = model->defaults().sampling;
  if (!model->checkpoint().load_generation_config()) rules.sampling.temperature = kTemperatureWithoutAdvice;
  const std::string identity =
      fmt::format("{} {}", model->checkpoint().folder().native(), model->ops().device);
  served->fingerprint = fmt::format("fp_{:016x}", std::hash<std::string>()(identity));
  served->created = std::time(nullptr);
  served->model = model;
  served->grammars = std::make_shared<engine::GrammarCache>(model);
  served->engine = std::make_unique<engine::Engine>(std::move(model), options);
  // The engine is the served model's own, as the rules are.
  rules.select_adapters = [engine = served->engine.get()](std::span<const engine::AdapterChoice> choices) {
    return engine->adapters().select(choices);
  };
  served->rules = std::move(rules);
  return served;
}

}  // namespace lanner::server
