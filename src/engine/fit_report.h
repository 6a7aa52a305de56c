// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/memory_plan.h"
#include "io/json.h"

namespace lanner::engine {

/// Whether this fits.
struct FitQuestion {
  std::size_t users = 1;          ///< sequences at once
  std::size_t tokens = 0;         ///< of each
  std::size_t context = 0;        ///< that the model allows
  std::size_t budget_bytes = 0;   ///< of memory
  std::size_t program_bytes = 0;  ///< of the budget, for what the plan does not know: code and tokenizer
};

/// The answer of `lanner fit --json` and GET /fit; docs/commands.md lists the fields.
io::Json fit_facts(const MemoryPlan& plan, const FitQuestion& question);

}  // namespace lanner::engine
