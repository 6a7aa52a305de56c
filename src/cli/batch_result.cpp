// SPDX-License-Identifier: MIT
#include "cli/batch_result.h"

#include <algorithm>
#include <utility>

#include "server/engine_problem.h"
#include "server/error_response.h"

namespace lanner::cli {
namespace {

using server::Json;

std::string result_line(const BatchLine& line, int status, Json body, Json error) {
  const std::string id = line.result_id();
  return server::write_json(
      {{"id", id},
       {"custom_id", line.custom_id.empty() ? Json(nullptr) : Json(line.custom_id)},
       {"response", {{"status_code", status}, {"request_id", id}, {"body", std::move(body)}}},
       {"error", std::move(error)}});
}

}  // namespace

BatchResult::BatchResult(BatchLine line, server::GenerationPlan plan, engine::Engine& engine)
    : line_(std::move(line)), plan_(std::move(plan)), answer_(plan_.facts) {
  for (engine::Request& request : plan_.requests) handles_.push_back(engine.require(std::move(request)));
}

void BatchResult::take(std::chrono::milliseconds moment) {
  for (std::size_t prompt = 0; prompt < handles_.size(); ++prompt) {
    if (handles_[prompt].is_over()) continue;
    while (auto event = handles_[prompt].next_for(std::exchange(moment, {}))) {
      if (const auto* failure = std::get_if<engine::Failure>(&*event))
        problem_ = server::failure_problem(*failure, line_.result_id());
      server::count_over_prompts(*event, prompt * plan_.requests[prompt].choices);
      answer_.add(*event, prompt);
    }
  }
}

bool BatchResult::is_over() const {
  return std::ranges::all_of(handles_, [](const engine::RequestHandle& handle) { return handle.is_over(); });
}

std::string BatchResult::text() const {
  if (problem_) return failure_line(line_, *problem_);
  return result_line(line_, 200, plan_.format->whole(answer_), nullptr);
}

std::string failure_line(const BatchLine& line, const server::Problem& problem) {
  const Json body = server::error_body(problem, server::ErrorStyle::kOpenAi, line.result_id());
  return result_line(line, problem.status, body, body["error"]);
}

}  // namespace lanner::cli
