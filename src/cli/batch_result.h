// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/batch_request.h"
#include "engine/engine.h"
#include "server/answer.h"
#include "server/problem.h"

namespace lanner::cli {

/// One line while it is answered.
class BatchResult {
 public:
  /// Submits the plan's requests. Throws Error for one that is refused.
  BatchResult(BatchLine line, server::GenerationPlan plan, engine::Engine& engine);

  /// Takes what comes within a moment.
  void take(std::chrono::milliseconds moment);
  bool is_over() const;
  bool failed() const { return problem_.has_value(); }
  /// The result, one line without its end.
  std::string text() const;

 private:
  BatchLine line_;
  server::GenerationPlan plan_;
  server::Answer answer_;
  std::vector<engine::RequestHandle> handles_;  ///< one per prompt
  std::optional<server::Problem> problem_;
};

/// {"id", "custom_id", "response": {"status_code": 400, ...}, "error": {...}} for a line that is not
/// answered.
std::string failure_line(const BatchLine& line, const server::Problem& problem);

}  // namespace lanner::cli
