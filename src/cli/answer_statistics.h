// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "engine/event.h"

namespace lanner::cli {

/// Measures one answer from the moment it is asked for.
class AnswerClock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct AnswerStatistics {
  double load_seconds = 0;
  double first_token_seconds = 0;  ///< from the request to the first token; 0 = none came
  double total_seconds = 0;        ///< of the request, without loading
  std::size_t prompt_tokens = 0;
  engine::Timings timings = {};
  engine::ChoiceUsage usage = {};
};

/// "prompt 12 tokens, 850 tok/s; answer 100 tokens, 240 tok/s; first token 18 ms".
std::string statistics_line(const AnswerStatistics& statistics);

/// "stop", "length", "cancelled".
const char* finish_name(engine::FinishReason reason);

}  // namespace lanner::cli
