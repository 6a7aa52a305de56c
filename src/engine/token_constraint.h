// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/token.h"
#include "text/grammar/work.h"

namespace lanner::engine {

/// What an answer may consist of, token by token: a grammar's matcher, for example. It sees the tokens of the
/// content only, not those of the reasoning before it. Used from one thread at a time. Calls with a deadline
/// throw GrammarLate behind it, with nothing changed; without one they take the time it takes.
class TokenConstraint {
 public:
  using Deadline = text::grammar::WorkDeadline;

  virtual ~TokenConstraint() = default;

  /// Bit id % 64 of mask[id / 64] becomes 1 when token `id` may come next, else 0, for every id the mask has
  /// room for. Ids that end the answer are allowed exactly when the answer may end here. Never all zero.
  virtual void fill_mask(std::span<std::uint64_t> mask, Deadline until) = 0;
  /// The answer may end here.
  virtual bool can_end() const = 0;
  /// Goes on by one token; false, and no change, when it is not allowed here.
  virtual bool accept(TokenId token, Deadline until) = 0;
  /// Takes back the last `tokens` accepted tokens; at least 64 can be taken back.
  virtual void rollback(std::size_t tokens) = 0;
  /// Tokens that must come next, as the tokenizer would write them: worth feeding without asking the model.
  /// Often empty. They are not accepted by this call.
  virtual std::vector<TokenId> forced(Deadline until) = 0;
};

/// Makes a fresh constraint for each choice of a request. Called on the engine's thread.
using ConstraintFactory = std::function<std::unique_ptr<TokenConstraint>()>;

}  // namespace lanner::engine
