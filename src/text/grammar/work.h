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

/// The question in which a thing was found; what was there before the first one is always known.
using QuestionId = std::uint32_t;
inline constexpr QuestionId kAlwaysKnown = ~QuestionId{0};

/// What finding a thing took, without the lasting parts (see Work::Lasting), and the question that it was
/// last found or used in. Such things are not found for one another.
struct Finding {
  QuestionId question = 0;
  std::uint32_t steps = 0;
};

/// How much work may still be done. Counted, not timed: the same grammar gets the same answer everywhere.
///
/// A machine's work is counted by questions, and whether one takes too much must not depend on what others
/// left behind. So a question is cold or warm. In a cold one nothing found before counts as known: all is
/// found again and its work is exactly what a machine that knows nothing needs. In a warm one, which is fast,
/// what is known is used: a thing with a Finding counts its steps again, once, and for lasting things
/// all that was ever spent on them counts. That is never less than the work of the cold question.
class Work {
 public:
  explicit Work(std::uint64_t steps) : left_(steps) {}

  /// Throws GrammarLimit when fewer are left, and GrammarLate behind the deadline.
  void take(std::uint64_t steps) {
    taken_ += steps;
    if (steps > left_) {
      left_ = 0;
      throw GrammarLimit("the grammar takes too much work: it has too many parts or ways to read a text");
    }
    left_ -= steps;
    if (left_ < look_at_) look();
  }
  std::uint64_t left() const { return left_; }
  void leave(std::uint64_t steps) { left_ = steps; }

  enum class Question : std::uint8_t { kWarm, kCold };
  void begin(Question kind, std::uint64_t steps, WorkDeadline until = {}) {
    question_ = question_ == kAlwaysKnown ? 1 : question_ + 1;
    known_from_ = kind == Question::kCold ? question_ : 0;
    left_ = steps;
    taken_ = lasting_here_ = 0;
    until_ = until;
    look_at_ = until ? next_look() : 0;
  }
  QuestionId question() const { return question_; }
  bool is_cold() const { return known_from_ != 0; }
  /// Whether what was found in the question `found_in` counts as known.
  bool knows(QuestionId found_in) const { return found_in >= known_from_; }
  /// Whether a thing counts as known; that it is used counts as finding it, once a question.
  bool use(Finding& finding) {
    if (finding.question == question_) return true;
    if (is_cold()) return false;
    finding.question = question_;
    take(finding.steps);
    return true;
  }
  /// What this question took so far, without the lasting parts.
  std::uint64_t passing() const { return taken_ - lasting_here_; }
  /// Of a thing that is found now, what passing() was before.
  Finding found_since(std::uint64_t before) const {
    return {.question = question_, .steps = static_cast<std::uint32_t>(passing() - before)};
  }
  /// All that was spent on lasting things.
  std::uint64_t lasting() const { return lasting_; }

  /// While it lives, what is taken is for things that have no Finding.
  class Lasting {
   public:
    /// `is_new`: the thing was never found before.
    Lasting(Work& work, bool is_new)
        : work_(work), is_outermost_(!work.is_lasting_), is_new_(is_new), before_(work.taken_) {
      work_.is_lasting_ = true;
    }
    ~Lasting() {
      if (!is_outermost_) return;
      work_.is_lasting_ = false;
      work_.lasting_here_ += work_.taken_ - before_;
      if (is_new_) work_.lasting_ += work_.taken_ - before_;
    }
    Lasting(const Lasting&) = delete;
    Lasting& operator=(const Lasting&) = delete;

   private:
    Work& work_;
    const bool is_outermost_, is_new_;
    const std::uint64_t before_;
  };

 private:
  std::uint64_t next_look() const { return left_ > kLookWork ? left_ - kLookWork : 0; }
  void look() {
    if (std::chrono::steady_clock::now() >= *until_) throw GrammarLate();
    look_at_ = next_look();
  }

  std::uint64_t left_;
  std::uint64_t taken_ = 0;    ///< in this question
  std::uint64_t look_at_ = 0;  ///< the clock is read once fewer steps are left
  WorkDeadline until_;
  QuestionId question_ = kAlwaysKnown;
  QuestionId known_from_ = 0;
  bool is_lasting_ = false;
  std::uint64_t lasting_ = 0;
  std::uint64_t lasting_here_ = 0;  ///< in this question
};

}  // namespace lanner::text::grammar
