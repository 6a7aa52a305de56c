// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/token.h"
#include "engine/logit_blocks.h"

namespace lanner::engine {

/// A token that may be chosen, and its logit or log-probability.
struct Candidate {
  TokenId id = 0;
  float value = 0;
};

/// A larger value, or a lower id among equals.
inline bool likelier(const Candidate& a, const Candidate& b) {
  return a.value != b.value ? a.value > b.value : a.id < b.id;
}

/// The tokens of a row that may still be chosen: at first all that are not banned. A vocabulary is long and
/// few of it matter: until something needs them one by one, they are not listed.
class Survivors {
 public:
  /// `logits` must outlive this and stay as they are.
  explicit Survivors(const LogitBlocks& logits) : logits_(logits) {}

  /// The likeliest `count` (or all), likeliest first. Valid until the next call that is not const.
  std::span<const Candidate> likeliest(std::size_t count);
  Candidate top();
  /// All: those that were ranked in front, likeliest first, then ascending by id where nothing was removed
  /// behind them. Valid as above.
  std::span<const Candidate> all();
  /// ln(sum of exp(value)).
  double log_total() const;

  /// Removes all but the likeliest `count`; at least one stays.
  void keep_likeliest(std::size_t count);
  /// Removes what has a smaller value.
  void keep_at_least(double floor);
  /// Removes those for which `drop(candidate)` is true.
  template <typename Drop>
  void remove(Drop&& drop) {
    all();
    std::size_t kept = 0;
    std::size_t ranked = 0;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (drop(list_[i])) continue;
      if (i < ranked_) ++ranked;
      list_[kept++] = list_[i];
    }
    list_.resize(kept);
    ranked_ = ranked;
  }
  /// Replaces every value by map(value), which must not change which of two is likelier.
  template <typename Map>
  void transform(Map&& map) {
    all();
    for (Candidate& candidate : list_) candidate.value = map(candidate.value);
  }
  /// Subtracts in double and rounds once.
  void subtract(double amount);
  /// Divides by what is above 0.
  void divide(float divisor);

  /// All are as in logits(), but for value_of().
  bool is_whole() const { return is_whole_; }
  const LogitBlocks& logits() const { return logits_; }
  /// What a logit has become, while this is whole; it grows with the logit.
  float value_of(float logit) const { return static_cast<float>(double(logit) - subtracted_) / divisor_; }

 private:
  void forget_ranking();
  void list_at_least(double floor);
  std::uint64_t mass_of_whole(float top) const;

  const LogitBlocks& logits_;
  double subtracted_ = 0;
  float divisor_ = 1;
  bool is_whole_ = true;  ///< list_ has the ranked_ likeliest alone
  std::vector<Candidate> list_;
  std::size_t ranked_ = 0;  ///< of list_, in front, in order
};

}  // namespace lanner::engine
