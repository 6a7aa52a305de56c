// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "core/token.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// How a family leaves its reasoning. Empty for a vocabulary without reasoning markers.
struct ReasoningMarks {
  explicit ReasoningMarks(const text::Tokenizer& tokenizer);

  std::vector<TokenId> close;   ///< ends reasoning from anywhere inside it
  std::vector<TokenId> behind;  ///< what follows the end marker before content begins
  std::optional<TokenId> call;  ///< begins a tool call, which ends reasoning, too
};

}  // namespace lanner::engine
