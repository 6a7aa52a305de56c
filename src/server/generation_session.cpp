// SPDX-License-Identifier: MIT
#include "server/generation_session.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "server/engine_problem.h"

namespace lanner::server {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;

std::string server_timing(const engine::Timings& timings) {
  return fmt::format("queue;dur={:.3f}, prefill;dur={:.3f}, decode;dur={:.3f}", 1000 * timings.queue_seconds,
                     1000 * timings.prompt_seconds, 1000 * timings.decode_seconds);
}

}  // namespace

void GenerationSession::start(Surroundings surroundings, GenerationPlan plan) {
  const auto session = std::make_shared<GenerationSession>(std::move(surroundings), std::move(plan));
  session->submit();
  session->listen();
}

GenerationSession::GenerationSession(Surroundings surroundings, GenerationPlan plan)
    : at_(std::move(surroundings)), plan_(std::move(plan)), answer_(plan_.facts) {}

GenerationSession::~GenerationSession() { end(); }

/// Before the last bytes leave: who has them finds the request no longer listed.
void GenerationSession::end() {
  over_ = true;
  if (live_key_ != 0) at_.live->remove(std::exchange(live_key_, 0));
}

void GenerationSession::submit() {
  if (at_.live->keeps_tokens()) trail_ = std::make_shared<TokenTrail>(plan_.requests.front().prompt);
  for (engine::Request& request : plan_.requests) {
    at_.metrics->observe("request_params_n", static_cast<double>(request.choices));
    if (request.max_tokens)
      at_.metrics->observe("request_params_max_tokens", static_cast<double>(*request.max_tokens));
    auto result = at_.served->engine->submit(std::move(request));
    if (auto* refusal = std::get_if<engine::Refusal>(&result))
      throw RequestError(refusal_problem(*refusal, plan_.prompt_field));
    handles_.push_back(std::move(std::get<engine::RequestHandle>(result)));
  }
}

void GenerationSession::listen() {
  const std::weak_ptr<GenerationSession> weak = weak_from_this();
  // The exchange keeps the session, so that who else asks for it asks in vain once the client is gone.
  at_.exchange->on_gone([self = shared_from_this()] { self->cancel(); });
  if (plan_.delivery == Delivery::kStream)
    at_.exchange->on_silence([weak]() -> std::string {
      const auto self = weak.lock();
      if (!self || self->over_) return {};
      self->send_head();
      return self->plan_.format->keep_alive(
          fmt::format("keepalive {}/{}", self->prompts_done_, self->prompts_total_));
    });
  live_key_ = at_.live->add(
      at_.exchange->request().id,
      {.answer_id = plan_.facts.id,
       .path = at_.exchange->request().path,
       .created = plan_.facts.created,
       .prompt_tokens = answer_.prompt_tokens(),
       .cancel = on_every_handle([](engine::RequestHandle& handle) { handle.cancel(); }),
       .end_reasoning = on_every_handle([](engine::RequestHandle& handle) { handle.end_reasoning(); }),
       .trail = trail_});
  for (engine::RequestHandle& handle : handles_)
    handle.listen([weak] {
      const auto self = weak.lock();
      if (self && !self->pump_due_.exchange(true)) self->at_.exchange->post([self] { self->pump(); });
    });
}

std::function<void()> GenerationSession::on_every_handle(std::function<void(engine::RequestHandle&)> act) {
  return [weak = weak_from_this(), exchange = std::weak_ptr<Exchange>(at_.exchange), act = std::move(act)] {
    const auto there = exchange.lock();
    if (!there) return;
    there->post([weak, act] {
      if (const auto self = weak.lock())
        for (engine::RequestHandle& handle : self->handles_) act(handle);
    });
  };
}

void GenerationSession::pump() {
  pump_due_.store(false);
  if (over_) return;
  try {
    take_events();
  } catch (const std::exception&) {
    fail(internal_problem(at_.exchange->request().id));  // a fault in one answer ends that answer alone
  }
}

void GenerationSession::take_events() {
  std::size_t ended = 0;
  for (std::size_t prompt = 0; prompt < handles_.size() && !over_; ++prompt) {
    while (!over_) {
      auto event = handles_[prompt].next_for(std::chrono::milliseconds(0));
      if (!event) break;
      take(std::move(*event), prompt);
    }
    if (handles_[prompt].is_over()) ++ended;
  }
  if (over_) return;
  if (ended == handles_.size())
    complete();
  else
    flush();
}

void GenerationSession::take(engine::Event event, std::size_t prompt) {
  count_over_prompts(event, prompt * plan_.requests[prompt].choices);
  if (const auto* token = std::get_if<engine::TokenEvent>(&event))
    if (trail_ && token->choice == 0) trail_->add(token->id);
  if (const auto* end = std::get_if<engine::ChoiceEnd>(&event))
    if (end->reason == engine::FinishReason::kCancelled) return fail(cancelled_problem());
  if (const auto* failure = std::get_if<engine::Failure>(&event))
    return fail(failure_problem(*failure, at_.exchange->request().id));
  if (const auto* progress = std::get_if<engine::PromptProgress>(&event)) {
    prompts_done_ = progress->done;
    prompts_total_ = progress->total;
  }
  measure(event);
  answer_.add(event, prompt);
  if (plan_.delivery == Delivery::kWhole) return;
  if (!head_sent_ && std::holds_alternative<engine::TokenEvent>(event)) send_head();
  if (!head_sent_ && std::holds_alternative<engine::ChoiceEnd>(event)) send_head();
  pending_ += plan_.format->piece(event, answer_);
  // While events come as fast as they are written down, nothing would leave until the last.
  if (head_sent_ && pending_.size() >= kPiece) flush();
}

void GenerationSession::measure(const engine::Event& event) {
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  if (std::holds_alternative<engine::TokenEvent>(event)) {
    const Clock::time_point now = Clock::now();
    if (last_token_ == Clock::time_point{})
      at_.metrics->observe("time_to_first_token_seconds", seconds(now - began_));
    else
      at_.metrics->observe("inter_token_latency_seconds", seconds(now - last_token_));
    last_token_ = now;
  } else if (const auto* done = std::get_if<engine::RequestEnd>(&event)) {
    const engine::Timings& timings = done->timings;
    at_.metrics->observe("e2e_request_latency_seconds", seconds(Clock::now() - began_));
    at_.metrics->observe("request_queue_time_seconds", timings.queue_seconds);
    at_.metrics->observe("request_prefill_time_seconds", timings.prompt_seconds);
    at_.metrics->observe("request_decode_time_seconds", timings.decode_seconds);
    at_.metrics->observe("request_prompt_tokens", static_cast<double>(timings.prompt_tokens));
    at_.metrics->observe("request_generation_tokens", static_cast<double>(timings.generated_tokens));
    at_.metrics->count("prompt_tokens_total", {}, static_cast<double>(timings.prompt_tokens));
    at_.metrics->count("prompt_tokens_cached_total", {}, static_cast<double>(timings.cached_tokens));
    at_.metrics->count("generation_tokens_total", {}, static_cast<double>(timings.generated_tokens));
    at_.metrics->count("prompt_seconds_total", {}, timings.prompt_seconds);
    at_.metrics->count("generation_seconds_total", {}, timings.decode_seconds);
  }
}

void GenerationSession::send_head() {
  if (std::exchange(head_sent_, true)) return;
  at_.exchange->start_stream({.content_type = "text/event-stream; charset=utf-8",
                              .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
  pending_ = plan_.format->opening(answer_) + pending_;
  flush();
}

void GenerationSession::flush() {
  if (!pending_.empty()) at_.exchange->send(std::exchange(pending_, {}));
}

void GenerationSession::complete() {
  end();
  for (const AnswerChoice& choice : answer_.choices())
    at_.metrics->count("request_success_total",
                       fmt::format("finished_reason=\"{}\"", choice.end ? choice.finish_reason() : "stop"));
  if (plan_.when_complete) plan_.when_complete(answer_);
  if (plan_.delivery == Delivery::kWhole)
    return at_.exchange->respond({.body = write_json(plan_.format->whole(answer_)),
                                  .headers = {{"Server-Timing", server_timing(answer_.timings())}}});
  send_head();
  pending_ += plan_.format->closing(answer_);
  flush();
  at_.exchange->finish();
}

void GenerationSession::fail(const Problem& problem) {
  end();
  at_.metrics->count("request_success_total",
                     problem.code == "cancelled" ? "finished_reason=\"abort\"" : "finished_reason=\"error\"");
  for (engine::RequestHandle& handle : handles_) handle.cancel();
  if (!head_sent_)
    return at_.exchange->respond(error_response(problem, plan_.errors, at_.exchange->request().id));
  pending_ += plan_.format->failure(problem, at_.exchange->request().id);
  flush();
  at_.exchange->finish();
}

void GenerationSession::cancel() {
  if (over_) return;
  end();
  at_.metrics->count("request_success_total", "finished_reason=\"abort\"");
  for (engine::RequestHandle& handle : handles_) handle.cancel();
}

}  // namespace lanner::server
