// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "engine/token_constraint.h"

namespace lanner::engine {

/// What a sequence asks its constraint at once: to take a token, what is forced behind it and, where nothing
/// is, what may come next.
struct ConstraintQuestion {
  std::shared_ptr<TokenConstraint> constraint;
  std::optional<TokenId> token = {};     ///< nothing once it is accepted
  bool wants_forced = false;             ///< until they are found
  std::vector<TokenId> forced = {};      ///< behind the token
  std::vector<std::uint64_t> mask = {};  ///< to be filled; empty when it is not wanted
  std::optional<double> mask_seconds{};  ///< that it took to fill the mask
  std::exception_ptr error = {};         ///< why there is no answer
  bool is_answered = false;              ///< the worker's
};

/// A thread that finds what constraints could not say in time, one question after the other. Used from any
/// thread; the thread starts with the first question.
class ConstraintWorker {
 public:
  using Clock = std::chrono::steady_clock;

  ConstraintWorker() = default;
  ~ConstraintWorker();
  ConstraintWorker(const ConstraintWorker&) = delete;
  ConstraintWorker& operator=(const ConstraintWorker&) = delete;

  void ask(std::shared_ptr<ConstraintQuestion> question);
  /// Whether the question is answered, now or by `until`.
  bool wait(const ConstraintQuestion& question, Clock::time_point until);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable answered_;
  std::deque<std::shared_ptr<ConstraintQuestion>> questions_;
  bool stopping_ = false;
  std::thread thread_;
};

/// A constraint that never makes its caller wait beyond a deadline: what it cannot say in time is left to a
/// worker, and the constraint is late until that has found it. Used from one thread at a time.
class TimelyConstraint {
 public:
  using Deadline = ConstraintWorker::Clock::time_point;

  /// `worker` must outlive it.
  TimelyConstraint(std::unique_ptr<TokenConstraint> constraint, ConstraintWorker& worker)
      : constraint_(std::move(constraint)), worker_(worker) {}

  /// The worker has something to find, or found something that was not taken over yet.
  bool is_late() const { return question_ != nullptr; }
  /// Waits while it is late; false when it still is at `until`.
  bool wait(Deadline until) const { return !is_late() || worker_.wait(*question_, until); }
  /// Takes over what the worker found; false when the constraint is still late at `until`. Throws what went
  /// wrong with the question. The other members but count_allowed() are for when it is not late.
  bool catch_up(Deadline until);
  /// Takes a token and finds what may follow it. Throws Error kInternal when the token is not allowed.
  void accept(TokenId token, Deadline until);
  /// The same where it is known what follows.
  void accept_known(TokenId token, Deadline until);
  /// Tokens that must follow the one taken last; asked for once.
  std::vector<TokenId> take_forced() { return std::exchange(forced_, {}); }
  /// What may come next, as TokenConstraint::fill_mask() says; empty when that makes the constraint late.
  std::span<const std::uint64_t> mask(std::size_t columns, Deadline until);
  /// How many of `guesses` may follow one another from here; fewer when that is not known by `until`.
  std::size_t count_allowed(std::span<const TokenId> guesses, Deadline until);
  bool can_end() const { return constraint_->can_end(); }
  /// How long each mask took that was found since the last call.
  std::vector<double> take_mask_seconds() { return std::exchange(mask_seconds_, {}); }

 private:
  void ask(ConstraintQuestion question, Deadline until);
  void take_over(ConstraintQuestion& answered);

  std::shared_ptr<TokenConstraint> constraint_;
  ConstraintWorker& worker_;
  std::shared_ptr<ConstraintQuestion> question_;  ///< the worker's
  std::vector<TokenId> forced_;
  std::vector<std::uint64_t> mask_;
  bool has_mask_ = false;
  bool is_slow_ = false;  ///< the last mask took long
  std::vector<double> mask_seconds_;
};

}  // namespace lanner::engine
