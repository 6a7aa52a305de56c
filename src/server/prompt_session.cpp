// SPDX-License-Identifier: MIT
#include "server/prompt_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <variant>

#include "server/engine_problem.h"
#include "server/error_response.h"

namespace lanner::server {

void PromptSession::start(Surroundings surroundings, Plan plan) {
  std::make_shared<PromptSession>(std::move(surroundings), std::move(plan))->begin();
}

PromptSession::PromptSession(Surroundings surroundings, Plan plan)
    : at_(std::move(surroundings)), plan_(std::move(plan)), results_(plan_.requests.size()) {}

PromptSession::~PromptSession() { end(); }

void PromptSession::end() {
  over_ = true;
  if (live_key_ != 0) at_.live->remove(std::exchange(live_key_, 0));
}

void PromptSession::begin() {
  std::size_t tokens = 0;
  for (const engine::Request& request : plan_.requests) tokens += request.prompt.size();
  submit_more();
  const std::weak_ptr<PromptSession> weak = weak_from_this();
  at_.exchange->on_gone([self = shared_from_this()] { self->cancel(); });
  live_key_ = at_.live->add(at_.exchange->request().id,
                            {.answer_id = at_.exchange->request().id,
                             .path = at_.exchange->request().path,
                             .created = std::time(nullptr),
                             .prompt_tokens = tokens,
                             .cancel = [weak, exchange = std::weak_ptr<Exchange>(at_.exchange)] {
                               if (const auto there = exchange.lock())
                                 there->post([weak] {
                                   if (const auto self = weak.lock(); self && !self->over_)
                                     self->fail(cancelled_problem());
                                 });
                             }});
}

/// As many at a time as the engine runs at once.
void PromptSession::submit_more() {
  const std::size_t most = at_.served->engine->options().max_sequences;
  while (next_ < plan_.requests.size() && running_.size() < most) {
    engine::Request request = plan_.requests[next_];
    auto result = at_.served->engine->submit(std::move(request));
    if (auto* refusal = std::get_if<engine::Refusal>(&result)) {
      // A place comes free when one of the own requests ends.
      if (refusal->kind == engine::RefusalKind::kQueueFull && !running_.empty()) return;
      const bool alone = plan_.requests.size() == 1;
      throw RequestError(
          refusal_problem(*refusal, alone ? plan_.field : fmt::format("{}[{}]", plan_.field, next_)));
    }
    engine::RequestHandle& handle =
        running_.emplace(next_++, std::move(std::get<engine::RequestHandle>(result))).first->second;
    handle.listen([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !self->pump_due_.exchange(true)) self->at_.exchange->post([self] { self->pump(); });
    });
  }
}

void PromptSession::pump() {
  pump_due_.store(false);
  if (over_) return;
  try {
    for (auto at = running_.begin(); at != running_.end() && !over_;) {
      take_events(at->first, at->second);
      at = at->second.is_over() ? running_.erase(at) : std::next(at);
    }
    if (over_) return;
    submit_more();
    if (!running_.empty()) return;
    end();
    at_.metrics->count("request_success_total", "finished_reason=\"stop\"");
    plan_.complete(std::move(results_));
  } catch (const RequestError& error) {
    fail(error.problem());
  } catch (const std::exception&) {
    fail(internal_problem(at_.exchange->request().id));
  }
}

void PromptSession::take_events(std::size_t index, engine::RequestHandle& handle) {
  while (auto event = handle.next_for(std::chrono::milliseconds(0))) {
    if (std::holds_alternative<engine::Embedding>(*event) ||
        std::holds_alternative<engine::PromptState>(*event)) {
      results_[index] = std::move(*event);
    } else if (const auto* done = std::get_if<engine::RequestEnd>(&*event)) {
      at_.metrics->count("prompt_tokens_total", {}, static_cast<double>(done->timings.prompt_tokens));
      at_.metrics->count("prompt_tokens_cached_total", {}, static_cast<double>(done->timings.cached_tokens));
      at_.metrics->count("prompt_seconds_total", {}, done->timings.prompt_seconds);
      if (!results_[index])  // the engine ended it early
        return fail(cancelled_problem());
    } else if (const auto* failure = std::get_if<engine::Failure>(&*event)) {
      return fail(failure_problem(*failure, at_.exchange->request().id));
    }
  }
}

void PromptSession::fail(const Problem& problem) {
  end();
  at_.metrics->count("request_success_total",
                     problem.code == "cancelled" ? "finished_reason=\"abort\"" : "finished_reason=\"error\"");
  for (auto& [index, handle] : running_) handle.cancel();
  at_.exchange->respond(error_response(problem, ErrorStyle::kOpenAi, at_.exchange->request().id));
}

void PromptSession::cancel() {
  if (over_) return;
  end();
  at_.metrics->count("request_success_total", "finished_reason=\"abort\"");
  for (auto& [index, handle] : running_) handle.cancel();
}

}  // namespace lanner::server
