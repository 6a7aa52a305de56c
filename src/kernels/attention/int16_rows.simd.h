// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention_int16.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/words.h"

namespace lanner::kernels {
namespace {

inline float largest_magnitude(const float* row, std::size_t count) {
  Vec most = splat(0);
  for_vectors(count, [&](std::size_t i, auto lanes) { most = max(most, abs(lanes.load(row + i))); });
  return max_lanes(most);
}

inline float largest_magnitude(const std::uint16_t* row, std::size_t count) {
  Words most = no_words();
  const std::size_t whole = count - count % (2 * kLanes);
  for (std::size_t i = 0; i < whole; i += 2 * kLanes) most = larger_magnitudes(most, row + i);
  if (whole != count) {
    std::uint16_t rest[2 * kLanes] = {};
    for (std::size_t i = whole; i < count; ++i) rest[i - whole] = row[i];
    most = larger_magnitudes(most, rest);
  }
  return largest_of(most);
}

/// How a row becomes integers: the low bits of x + shift, which a float's rounding leaves there; one is worth
/// `scale`.
struct RowScale {
  float shift = 0x1.8p23F;
  float scale = 0;
};

/// 1 / the largest power of two that is not above x, which lies between 2^-125 and 2^126.
inline float inverse_power_of_two(float x) {
  return __builtin_bit_cast(float, 0x7f000000U - (__builtin_bit_cast(std::uint32_t, x) & 0x7f800000U));
}

template <typename T>
inline RowScale row_scale(const T* row, std::size_t count, float code) {
  const float largest = largest_magnitude(row, count);
  if (largest <= kSmallestRow) return {};
  const float scale = inverse_power_of_two(code / largest);
  return {0x1.8p23F * scale, scale};
}

/// Pairs of codes of 2 * kLanes elements.
template <typename T>
inline Words round_pairs(const T* from, Vec shift) {
  const Pairs pairs = load_pairs(from);
  return join(bits_of(pairs.even + shift), bits_of(pairs.odd + shift));
}

/// Pairs of codes of a row, words for the filled-up row.
template <typename T>
inline float round_row(std::int32_t* words, const T* row, std::size_t count, float code) {
  const RowScale by = row_scale(row, count, code);
  const Vec shift = splat(by.shift);
  const std::size_t whole = count - count % (2 * kLanes);
  for (std::size_t i = 0; i < whole; i += 2 * kLanes) store_words(words + i / 2, round_pairs(row + i, shift));
  for (std::size_t i = whole; i < Int16Sizes(count).columns; i += 2 * kLanes) {
    T rest[2 * kLanes] = {};
    for (std::size_t j = i; j < count; ++j) rest[j - i] = row[j];
    store_words(words + i / 2, round_pairs(rest, shift));
  }
  return by.scale;
}

/// Columns of values that are computed together; their words lie together for all pairs of positions.
inline constexpr std::size_t kValuePanel = 2 * kLanes;

/// Pairs of codes of two rows, one after another in each panel of [panels][32 pairs][kValuePanel], at words.
template <typename T>
inline void join_rows(std::int32_t* words, const T* first, const T* second, const RowScale& by,
                      const RowScale& second_by, std::size_t count) {
  const Vec shift = splat(by.shift);
  const Vec second_shift = splat(second_by.shift);
  const auto join_vectors = [&](std::size_t i, auto lanes) {
    store_words(words + i / kValuePanel * (kKvBlock / 2 * kValuePanel) + i % kValuePanel,
                join(bits_of(lanes.load(first + i) + shift), bits_of(lanes.load(second + i) + second_shift)));
  };
  for_vectors(count, join_vectors);
}

}  // namespace
}  // namespace lanner::kernels
