// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/generation_session.h"

namespace lanner::server {

/// Has the engine compute prompts without answers for one exchange, for their embeddings or states: some at a
/// time, so that other requests find a place in the queue. Lives on the exchange's strand.
class PromptSession : public std::enable_shared_from_this<PromptSession> {
 public:
  using Surroundings = GenerationSession::Surroundings;
  /// An Embedding or PromptState for each request.
  using Results = std::vector<std::optional<engine::Event>>;
  /// Responds to the exchange, or has it done later.
  using Complete = std::function<void(Results results)>;

  struct Plan {
    std::vector<engine::Request> requests;
    std::string field;  ///< what a too long prompt is blamed on
    Complete complete;
  };

  /// Throws RequestError, and Error for requests that make no sense, before anything is sent.
  static void start(Surroundings surroundings, Plan plan);
  PromptSession(Surroundings surroundings, Plan plan);
  ~PromptSession();

 private:
  void begin();
  void submit_more();
  void pump();
  void take_events(std::size_t index, engine::RequestHandle& handle);
  void fail(const Problem& problem);
  void cancel();
  void end();

  Surroundings at_;
  Plan plan_;
  Results results_;
  std::size_t next_ = 0;                                  ///< request to submit
  std::map<std::size_t, engine::RequestHandle> running_;  ///< by index
  std::uint64_t live_key_ = 0;
  std::atomic<bool> pump_due_{false};
  bool over_ = false;
};

}  // namespace lanner::server
