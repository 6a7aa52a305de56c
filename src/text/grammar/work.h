// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"

namespace lanner::text::grammar {

/// Steps that compiling a grammar may take with all that belongs to it, and those of one token. A step is
/// about 10 ns of work; a new part that stays in memory counts as several.
inline constexpr std::uint64_t kCompileWork = 40'000'000, kTokenWork = 2'000'000;
/// What adding a part to a grammar counts as.
inline constexpr std::uint64_t kPartWork = 16;

/// A grammar that takes more work or memory than one request may cause.
class GrammarLimit : public Error {
 public:
  explicit GrammarLimit(const std::string& message) : Error(ErrorKind::kUnsupported, message) {}
};

/// How much work may still be done. Counted, not timed: the same grammar gets the same answer everywhere.
class Work {
 public:
  explicit Work(std::uint64_t steps) : left_(steps) {}

  /// Throws GrammarLimit when fewer are left.
  void take(std::uint64_t steps) {
    if (steps > left_) {
      left_ = 0;
      throw GrammarLimit("the grammar takes too much work: it has too many parts or ways to read a text");
    }
    left_ -= steps;
  }
  void renew(std::uint64_t steps) { left_ = steps; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
};

}  // namespace lanner::text::grammar
