// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/token.h"
#include "device/cpu_kernels.h"

namespace lanner::engine {

/// The logit of a token that may not be chosen.
inline constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Logits of a block.
inline constexpr std::size_t kLogitBlock = kernels::kLargestBlock;

/// The logits of one row [V], which lie elsewhere, and the largest of each block: these alone tell that most
/// of a vocabulary need not be looked at.
class LogitBlocks {
 public:
  /// Computes with the instructions of `isa`, to the same results with any. Throws NotFinite when a value is
  /// not a number, or +infinity.
  explicit LogitBlocks(std::span<float> values, Isa isa = Isa::kReference);

  std::size_t size() const { return values_.size(); }
  std::span<const float> values() const { return values_; }
  float value(TokenId id) const { return values_[static_cast<std::size_t>(id)]; }
  std::size_t count() const { return largest_.size(); }
  /// Block `index`, the last one perhaps shorter.
  std::span<const float> block(std::size_t index) const;
  /// The largest of each block [count()].
  std::span<const float> largest() const { return largest_; }
  /// The id of the largest of all; ties: the lowest.
  TokenId top() const;
  kernels::MassSumFn& mass_sum() const { return *kernels_->mass_sum; }

  /// Throws NotFinite when `value` is not a number.
  void set(TokenId id, float value);
  /// Bans all ids from `first` on.
  void ban_from(std::size_t first);
  /// Bans the ids whose bits are not set; one bit for each id.
  void keep(std::span<const std::uint64_t> allowed);

 private:
  std::span<float> part(std::size_t index) const;
  void look_at(std::size_t index);

  std::span<float> values_;
  const device::CpuKernels* kernels_;
  std::vector<float> largest_;
};

/// Index of the largest value; ties: the lowest. Throws NotFinite when a value is not a number.
TokenId argmax(std::span<const float> logits);

}  // namespace lanner::engine
