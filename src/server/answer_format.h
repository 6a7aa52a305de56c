// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "server/answer.h"
#include "server/json_body.h"
#include "server/problem.h"

namespace lanner::server {

/// How one API writes an answer: as one body, or as server-sent events. One per request; the concatenated
/// pieces of the events are the parts of the body.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual Json whole(const Answer& answer) = 0;
  /// Events before anything else.
  virtual std::string opening(const Answer& answer) = 0;
  /// Events for what `answer` has just taken in; often none.
  virtual std::string piece(const engine::Event& event, const Answer& answer) = 0;
  /// Events after everything else.
  virtual std::string closing(const Answer& answer) = 0;
  /// The last event of a stream that failed.
  virtual std::string failure(const Problem& problem, std::string_view request_id) = 0;
  /// What keeps a silent connection alive; `note` fits a comment.
  virtual std::string keep_alive(std::string_view note) { return ": " + std::string(note) + "\n\n"; }
};

/// "data: {...}\n\n"
std::string data_event(const Json& json);
/// "event: name\ndata: {...}\n\n"
std::string named_event(std::string_view name, const Json& json);

}  // namespace lanner::server
