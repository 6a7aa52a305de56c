// SPDX-License-Identifier: MIT
#include "engine/timely_constraint.h"

#include "core/error.h"

namespace lanner::engine {
namespace {

using text::grammar::GrammarLate;
using text::grammar::GrammarLimit;
using text::grammar::WorkDeadline;

// After a mask that took so long the next is left to the worker at once, beside the forward.
constexpr double kSlowSeconds = 1e-3;

std::size_t words_of(std::size_t columns) { return (columns + 63) / 64; }

bool wants_mask(const ConstraintQuestion& question) {
  return !question.mask.empty() && question.forced.empty();
}

/// What was done when GrammarLate is thrown is not asked again.
void find_forced(ConstraintQuestion& question, WorkDeadline until) {
  if (question.token && !question.constraint->accept(*question.token, until))
    throw Error(ErrorKind::kInternal, "a token was chosen that the answer's grammar does not allow");
  question.token.reset();
  if (question.wants_forced) question.forced = question.constraint->forced(until);
  question.wants_forced = false;
}

void find_mask(ConstraintQuestion& question, WorkDeadline until) {
  if (!wants_mask(question)) return;
  const auto begin = ConstraintWorker::Clock::now();
  question.constraint->fill_mask(question.mask, until);
  question.mask_seconds = std::chrono::duration<double>(ConstraintWorker::Clock::now() - begin).count();
}

}  // namespace

ConstraintWorker::~ConstraintWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ConstraintWorker::ask(std::shared_ptr<ConstraintQuestion> question) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(std::move(question));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  asked_.notify_one();
}

bool ConstraintWorker::wait(const ConstraintQuestion& question, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return answered_.wait_until(lock, until, [&] { return question.is_answered; });
}

void ConstraintWorker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [&] { return stopping_ || !questions_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<ConstraintQuestion> question = std::move(questions_.front());
    questions_.pop_front();
    if (question.use_count() == 1) continue;  // the sequence is gone
    lock.unlock();
    try {
      find_forced(*question, std::nullopt);
      find_mask(*question, std::nullopt);
    } catch (...) {
      question->error = std::current_exception();
    }
    lock.lock();
    question->is_answered = true;
    answered_.notify_all();
  }
}

void TimelyConstraint::ask(ConstraintQuestion question, Deadline until) {
  try {
    find_forced(question, until);
    if (!is_slow_ || !wants_mask(question)) {
      find_mask(question, until);
      return take_over(question);
    }
  } catch (const GrammarLate&) {
    // The worker does the rest.
  }
  question_ = std::make_shared<ConstraintQuestion>(std::move(question));
  worker_.ask(question_);
}

void TimelyConstraint::take_over(ConstraintQuestion& answered) {
  forced_ = std::move(answered.forced);
  if (!answered.mask.empty()) mask_ = std::move(answered.mask);
  if (!answered.mask_seconds) return;
  has_mask_ = true;
  is_slow_ = *answered.mask_seconds > kSlowSeconds;
  mask_seconds_.push_back(*answered.mask_seconds);
}

bool TimelyConstraint::catch_up(Deadline until) {
  if (!is_late()) return true;
  if (!wait(until)) return false;
  const std::shared_ptr<ConstraintQuestion> answered = std::exchange(question_, nullptr);
  if (answered->error) std::rethrow_exception(answered->error);
  take_over(*answered);
  return true;
}

void TimelyConstraint::accept(TokenId token, Deadline until) {
  has_mask_ = false;
  ask({.constraint = constraint_, .token = token, .wants_forced = true, .mask = std::move(mask_)}, until);
}

void TimelyConstraint::accept_known(TokenId token, Deadline until) {
  has_mask_ = false;
  ask({.constraint = constraint_, .token = token}, until);
}

std::span<const std::uint64_t> TimelyConstraint::mask(std::size_t columns, Deadline until) {
  if (!has_mask_) {
    mask_.resize(words_of(columns));
    ask({.constraint = constraint_, .mask = std::move(mask_)}, until);
    catch_up(until);
  }
  return is_late() ? std::span<const std::uint64_t>() : std::span(mask_);
}

std::size_t TimelyConstraint::count_allowed(std::span<const TokenId> guesses, Deadline until) {
  if (is_late()) return 0;
  std::size_t allowed = 0;
  try {
    while (allowed < guesses.size() && constraint_->accept(guesses[allowed], until)) ++allowed;
  } catch (const GrammarLate&) {
    // What is known suffices: guesses change no result.
  } catch (const GrammarLimit&) {
    // The same; who must follow them meets the limit.
  }
  constraint_->rollback(allowed);
  return allowed;
}

}  // namespace lanner::engine
