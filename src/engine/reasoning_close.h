// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/token.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// How a family leaves its reasoning.
struct ReasoningClose {
  std::vector<TokenId> whole;  ///< ends reasoning from anywhere inside it
  std::vector<TokenId> rest;   ///< what follows the end marker before content begins
};

/// Empty for a vocabulary without reasoning markers.
ReasoningClose reasoning_close(const text::Tokenizer& tokenizer);

}  // namespace lanner::engine
