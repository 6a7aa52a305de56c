// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "engine/token_constraint.h"

namespace lanner::test {

/// Opened once, for all who wait at it; they do not wait for ever.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait_for(lock, std::chrono::seconds(20), [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

/// Says what another constraint says, but is late with `percent` of what it is asked under a deadline, and
/// passes `gate`, if any, where it is asked without.
class LateConstraint final : public engine::TokenConstraint {
 public:
  LateConstraint(std::unique_ptr<TokenConstraint> constraint, unsigned percent, std::shared_ptr<Gate> gate)
      : constraint_(std::move(constraint)), percent_(percent), gate_(std::move(gate)) {}

  void fill_mask(std::span<std::uint64_t> mask, Deadline until) override {
    tarry(until);
    constraint_->fill_mask(mask, std::nullopt);
  }
  bool can_end() const override { return constraint_->can_end(); }
  bool accept(TokenId token, Deadline until) override {
    tarry(until);
    return constraint_->accept(token, std::nullopt);
  }
  void rollback(std::size_t tokens) override { constraint_->rollback(tokens); }
  std::vector<TokenId> forced(Deadline until) override {
    tarry(until);
    return constraint_->forced(std::nullopt);
  }

 private:
  void tarry(const Deadline& until) {
    has_begun_ = has_begun_ || until;
    if (until && dice_() % 100 < percent_) throw text::grammar::GrammarLate();
    if (!until && gate_ && has_begun_) gate_->pass();
  }

  std::unique_ptr<TokenConstraint> constraint_;
  unsigned percent_;
  std::shared_ptr<Gate> gate_;
  std::mt19937 dice_{1};
  bool has_begun_ = false;  ///< what is asked before the first step has no deadline
};

/// Makes the constraints of another factory late.
inline engine::ConstraintFactory late(engine::ConstraintFactory factory, unsigned percent,
                                      std::shared_ptr<Gate> gate = {}) {
  return [factory = std::move(factory), percent, gate = std::move(gate)] {
    return std::make_unique<LateConstraint>(factory(), percent, gate);
  };
}

}  // namespace lanner::test
