// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/answer.h"
#include "server/answer_format.h"
#include "server/error_response.h"
#include "server/exchange.h"
#include "server/live_requests.h"
#include "server/metrics.h"
#include "server/served_model.h"

namespace lanner::server {

/// What to generate for an exchange and how to write it.
struct GenerationPlan {
  std::vector<engine::Request> requests;  ///< one per prompt, with equal numbers of choices
  AnswerFacts facts;
  std::unique_ptr<AnswerFormat> format;
  Delivery delivery = Delivery::kWhole;
  ErrorStyle errors = ErrorStyle::kOpenAi;
  std::string prompt_field = "messages";             ///< what a too long prompt is blamed on
  std::function<void(const Answer&)> when_complete;  ///< optional
};

/// Runs a plan: submits it, turns the engine's events into the response, cancels it when the client leaves.
/// Lives on the exchange's strand.
class GenerationSession : public std::enable_shared_from_this<GenerationSession> {
 public:
  struct Surroundings {
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<ServedModel> served;
    std::shared_ptr<Metrics> metrics;
    std::shared_ptr<LiveRequests> live;
  };

  /// Throws RequestError, and Error for requests that make no sense, before anything is sent.
  static void start(Surroundings surroundings, GenerationPlan plan);
  GenerationSession(Surroundings surroundings, GenerationPlan plan);
  ~GenerationSession();

 private:
  using Clock = std::chrono::steady_clock;

  void submit();
  void listen();
  /// Does something with every handle, on the strand, when called from any thread.
  std::function<void()> on_every_handle(std::function<void(engine::RequestHandle&)> act);
  void pump();
  void take_events();
  void take(engine::Event event, std::size_t prompt);
  void measure(const engine::Event& event);
  void send_head();
  void flush();
  void complete();
  void fail(const Problem& problem);
  void cancel();
  void end();

  Surroundings at_;
  GenerationPlan plan_;
  Answer answer_;
  std::vector<engine::RequestHandle> handles_;
  std::uint64_t live_key_ = 0;
  std::shared_ptr<TokenTrail> trail_;  ///< null: nobody will ask for it
  std::atomic<bool> pump_due_{false};
  std::string pending_;  ///< events to send
  bool head_sent_ = false, over_ = false;
  std::size_t prompts_done_ = 0, prompts_total_ = 0;
  Clock::time_point began_ = Clock::now(), last_token_{};
};

}  // namespace lanner::server
