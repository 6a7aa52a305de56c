// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/token.h"

namespace lanner::engine {

/// The tokens that may still be chosen, each with a value: a logit or log-probability. Removed ones are
/// -infinity. Likelier means a larger value, or a lower id among equals.
class Survivors {
 public:
  explicit Survivors(std::span<float> values);

  std::size_t size() const { return ids_.size(); }
  float value(TokenId id) const { return values_[static_cast<std::size_t>(id)]; }
  std::span<float> values() const { return values_; }
  /// In ascending order of id until something was sorted.
  std::span<const TokenId> ids() const { return ids_; }
  /// The likeliest `count` (or all), likeliest first.
  std::span<const TokenId> likeliest(std::size_t count);
  TokenId top();
  /// ln(sum of exp(value)).
  double log_total() const;

  /// Removes all but the likeliest `count`; at least one stays.
  void keep_likeliest(std::size_t count);
  /// Removes those for which `drop(id)` is true.
  template <typename Drop>
  void remove(Drop&& drop) {
    std::size_t kept = 0;
    std::size_t sorted = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (drop(ids_[i])) {
        forget(ids_[i]);
        continue;
      }
      if (i < sorted_) ++sorted;
      ids_[kept++] = ids_[i];
    }
    ids_.resize(kept);
    sorted_ = sorted;
  }
  /// Replaces every value by map(value), which must not change which of two is likelier.
  template <typename Map>
  void transform(Map&& map) {
    for (TokenId id : ids_) {
      float& value = values_[static_cast<std::size_t>(id)];
      value = map(value);
    }
  }

 private:
  void forget(TokenId id);

  std::span<float> values_;
  std::vector<TokenId> ids_;
  std::size_t sorted_ = 0;  ///< of ids_, at the front, in order
};

}  // namespace lanner::engine
