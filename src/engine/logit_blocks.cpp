// SPDX-License-Identifier: MIT
#include "engine/logit_blocks.h"

#include <algorithm>
#include <cmath>

#include "engine/not_finite.h"

namespace lanner::engine {

LogitBlocks::LogitBlocks(std::span<float> values, Isa isa)
    : values_(values),
      kernels_(&device::cpu_kernels(isa)),
      largest_((values.size() + kLogitBlock - 1) / kLogitBlock) {
  if (!kernels_->block_largest(largest_, values)) throw NotFinite();
}

std::span<const float> LogitBlocks::block(std::size_t index) const { return part(index); }

TokenId LogitBlocks::top() const {
  const auto index = static_cast<std::size_t>(std::ranges::max_element(largest_) - largest_.begin());
  const auto values = block(index);
  const auto found = std::ranges::find(values, largest_[index]);
  return static_cast<TokenId>(index * kLogitBlock + static_cast<std::size_t>(found - values.begin()));
}

void LogitBlocks::set(TokenId id, float value) {
  if (std::isnan(value)) throw NotFinite();
  const auto at = static_cast<std::size_t>(id);
  const float before = values_[at];
  values_[at] = value;
  float& largest = largest_[at / kLogitBlock];
  if (value > largest)
    largest = value;
  else if (before == largest)
    look_at(at / kLogitBlock);
}

void LogitBlocks::ban_from(std::size_t first) {
  if (first >= values_.size()) return;
  std::ranges::fill(values_.subspan(first), kNever);
  for (std::size_t index = first / kLogitBlock; index < largest_.size(); ++index) look_at(index);
}

void LogitBlocks::keep(std::span<const std::uint64_t> allowed) {
  static_assert(kLogitBlock == 64);
  for (std::size_t index = 0; index < largest_.size(); ++index) {
    const std::uint64_t bits = allowed[index];
    if (bits == ~std::uint64_t{0}) continue;
    const std::span<float> values = part(index);
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((bits >> i & 1U) == 0) values[i] = kNever;
    look_at(index);
  }
}

std::span<float> LogitBlocks::part(std::size_t index) const {
  return values_.subspan(index * kLogitBlock, std::min(kLogitBlock, values_.size() - index * kLogitBlock));
}

void LogitBlocks::look_at(std::size_t index) { kernels_->block_largest({&largest_[index], 1}, part(index)); }

TokenId argmax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) throw NotFinite();
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<TokenId>(best);
}

}  // namespace lanner::engine
