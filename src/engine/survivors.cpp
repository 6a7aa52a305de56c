// SPDX-License-Identifier: MIT
#include "engine/survivors.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/portable_math.h"

namespace lanner::engine {
namespace {

constexpr float kRemoved = -std::numeric_limits<float>::infinity();

}  // namespace

Survivors::Survivors(std::span<float> values) : values_(values) {
  ids_.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != kRemoved) ids_.push_back(static_cast<TokenId>(i));
}

std::span<const TokenId> Survivors::likeliest(std::size_t count) {
  count = std::min(count, ids_.size());
  if (sorted_ < count) {
    const auto likelier = [&](TokenId a, TokenId b) {
      const float va = value(a);
      const float vb = value(b);
      return va != vb ? va > vb : a < b;
    };
    // A vocabulary is long, and what is asked for short: only as much as needed is put in order.
    const auto end = ids_.begin() + static_cast<std::ptrdiff_t>(count);
    const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    if (end != ids_.end()) std::nth_element(begin, end, ids_.end(), likelier);
    std::sort(begin, end, likelier);
    sorted_ = count;
  }
  return std::span(ids_).first(count);
}

TokenId Survivors::top() { return likeliest(1)[0]; }

double Survivors::log_total() const {
  float top = kRemoved;
  for (TokenId id : ids_) top = std::max(top, value(id));
  std::uint64_t mass = 0;
  for (TokenId id : ids_) mass += integer_mass(double(value(id)) - double(top));
  return double(top) + log_of_mass(mass);
}

void Survivors::keep_likeliest(std::size_t count) {
  count = std::max<std::size_t>(count, 1);
  if (count >= ids_.size()) return;
  likeliest(count);
  for (std::size_t i = count; i < ids_.size(); ++i) forget(ids_[i]);
  ids_.resize(count);
  sorted_ = std::min(sorted_, count);
}

void Survivors::forget(TokenId id) { values_[static_cast<std::size_t>(id)] = kRemoved; }

}  // namespace lanner::engine
