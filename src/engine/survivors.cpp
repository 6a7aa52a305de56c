// SPDX-License-Identifier: MIT
#include "engine/survivors.h"

#include <algorithm>
#include <array>
#include <functional>

#include "core/portable_math.h"

namespace lanner::engine {
namespace {

// Beyond so many, in shares of the blocks, their largest tell little about the likeliest.
constexpr std::size_t kFewPerBlocks = 4;

}  // namespace

void Survivors::forget_ranking() {
  list_.clear();
  ranked_ = 0;
}

void Survivors::list_at_least(double floor) {
  forget_ranking();
  const auto largest = logits_.largest();
  for (std::size_t index = 0; index < largest.size(); ++index) {
    if (largest[index] == kNever || double(value_of(largest[index])) < floor) continue;
    const auto block = logits_.block(index);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const float value = value_of(block[i]);
      if (block[i] != kNever && double(value) >= floor)
        list_.push_back({static_cast<TokenId>(index * kLogitBlock + i), value});
    }
  }
}

std::span<const Candidate> Survivors::likeliest(std::size_t count) {
  if (count <= ranked_) return std::span(list_).first(count);
  if (is_whole_) {
    // As many blocks have such a value as are asked for: nothing below it is among them.
    const auto largest = logits_.largest();
    if (count > largest.size() / kFewPerBlocks) {
      all();
    } else {
      std::vector<float> tops(count);
      std::ranges::partial_sort_copy(largest, tops, std::greater<>());
      list_at_least(double(value_of(tops.back())));
    }
  }
  count = std::min(count, list_.size());
  if (ranked_ < count) {
    // Only as much as needed is put in order.
    const auto begin = list_.begin() + static_cast<std::ptrdiff_t>(ranked_);
    const auto end = list_.begin() + static_cast<std::ptrdiff_t>(count);
    if (end != list_.end()) std::nth_element(begin, end, list_.end(), likelier);
    std::sort(begin, end, likelier);
    ranked_ = count;
  }
  if (is_whole_) list_.resize(ranked_);
  return std::span(list_).first(count);
}

Candidate Survivors::top() { return likeliest(1)[0]; }

std::span<const Candidate> Survivors::all() {
  if (is_whole_) {
    list_at_least(double(kNever));
    is_whole_ = false;
  }
  return list_;
}

double Survivors::log_total() const {
  if (is_whole_) {
    const float top = value_of(std::ranges::max(logits_.largest()));
    return double(top) + log_of_mass(mass_of_whole(top));
  }
  float top = kNever;
  for (const Candidate& candidate : list_) top = std::max(top, candidate.value);
  std::uint64_t mass = 0;
  for (const Candidate& candidate : list_) mass += integer_mass(double(candidate.value) - double(top));
  return double(top) + log_of_mass(mass);
}

std::uint64_t Survivors::mass_of_whole(float top) const {
  kernels::MassSumFn& mass_sum = logits_.mass_sum();
  if (subtracted_ == 0 && divisor_ == 1) return mass_sum(logits_.values(), top);
  std::uint64_t mass = 0;
  std::array<float, kLogitBlock> values{};
  for (std::size_t index = 0; index < logits_.count(); ++index) {
    const auto block = logits_.block(index);
    std::ranges::transform(block, values.begin(), [&](float logit) { return value_of(logit); });
    mass += mass_sum(std::span(values).first(block.size()), top);
  }
  return mass;
}

void Survivors::keep_likeliest(std::size_t count) {
  count = std::max<std::size_t>(count, 1);
  if (!is_whole_ && count >= list_.size()) return;
  list_.resize(likeliest(count).size());
  is_whole_ = false;
}

void Survivors::keep_at_least(double floor) {
  if (!is_whole_) return remove([&](const Candidate& candidate) { return double(candidate.value) < floor; });
  list_at_least(floor);
  is_whole_ = false;
}

void Survivors::subtract(double amount) {
  if (!is_whole_ || divisor_ != 1 || subtracted_ != 0)
    return transform([&](float value) { return static_cast<float>(double(value) - amount); });
  forget_ranking();
  subtracted_ = amount;
}

void Survivors::divide(float divisor) {
  if (!is_whole_ || divisor_ != 1) return transform([&](float value) { return value / divisor; });
  forget_ranking();
  divisor_ = divisor;
}

}  // namespace lanner::engine
