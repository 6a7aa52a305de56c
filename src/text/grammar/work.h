// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
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

/// When work for a token is put off; none = never.
using WorkDeadline = std::optional<std::chrono::steady_clock::time_point>;
/// Steps between two looks at the clock: what takes fewer is never late.
inline constexpr std::uint64_t kLookWork = 16'384;

/// The deadline has passed. Nothing is changed, what was found is kept, and the same may be asked again.
class GrammarLate : public std::exception {
 public:
  const char* what() const noexcept override { return "what the grammar allows is not known yet"; }
};

/// How much work may still be done. Counted, not timed: the same grammar gets the same answer everywhere.
class Work {
 public:
  explicit Work(std::uint64_t steps) : left_(steps) {}

  /// Throws GrammarLimit when fewer are left, and GrammarLate behind the deadline.
  void take(std::uint64_t steps) {
    if (steps > left_) {
      left_ = 0;
      throw GrammarLimit("the grammar takes too much work: it has too many parts or ways to read a text");
    }
    left_ -= steps;
    if (left_ < look_at_) look();
  }
  void renew(std::uint64_t steps, WorkDeadline until = {}) {
    left_ = steps;
    until_ = until;
    look_at_ = until ? next_look() : 0;
  }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t next_look() const { return left_ > kLookWork ? left_ - kLookWork : 0; }
  void look() {
    if (std::chrono::steady_clock::now() >= *until_) throw GrammarLate();
    look_at_ = next_look();
  }

  std::uint64_t left_;
  std::uint64_t look_at_ = 0;  ///< the clock is read once fewer steps are left
  WorkDeadline until_;
};

}  // namespace lanner::text::grammar
