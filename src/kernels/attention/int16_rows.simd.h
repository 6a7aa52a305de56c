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
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 2 * kLanes) most = larger_magnitudes(most, row + i);
  if (whole != count) {
    std::uint16_t rest[2 * kLanes] = {};
    for (std::size_t i = whole; i < count; ++i) rest[i - whole] = row[i];
    most = larger_magnitudes(most, rest);
  }
  return largest_of(most);
}

/// What `count` rows are divided by, in place of their largest magnitudes: the smallest power of two that is
/// not below largest / code; and what is added to their elements so that a float's rounding leaves the codes
/// in its low bits.
inline void row_scales(float* scales, float* shifts, std::size_t count, float code) {
  const std::uint32_t one = __builtin_bit_cast(std::uint32_t, 1.0F);
  const std::uint32_t fraction = 0x007fffff;
  // A difference of the bits is one of exponents, and a fraction that is not 0 leads to the next power.
  const std::uint32_t difference = one + fraction - __builtin_bit_cast(std::uint32_t, code);
  for (std::size_t i = 0; i < count; ++i) {
    const float largest = scales[i];
    const std::uint32_t power = (__builtin_bit_cast(std::uint32_t, largest) + difference) & ~fraction;
    const float scale = __builtin_bit_cast(float, largest <= kSmallestRow ? one : power);
    shifts[i] = 0x1.8p23F * scale;
    scales[i] = largest <= kSmallestRow ? 0 : scale;
  }
}

/// Pairs of codes of 2 * kLanes elements.
template <typename T>
inline Words round_pairs(const T* from, Vec shift) {
  const Pairs pairs = load_pairs(from);
  return join(bits_of(pairs.even + shift), bits_of(pairs.odd + shift));
}

/// Pairs of codes of a row, words for the filled-up row.
template <typename T>
inline void round_row(std::int32_t* words, const T* row, std::size_t count, float shift) {
  const std::size_t whole = count - count % (2 * kLanes);
#pragma GCC unroll 4
  for (std::size_t i = 0; i < whole; i += 2 * kLanes)
    store_words(words + i / 2, round_pairs(row + i, splat(shift)));
  for (std::size_t i = whole; i < Int16Sizes(count).columns; i += 2 * kLanes) {
    T rest[2 * kLanes] = {};
    for (std::size_t j = i; j < count; ++j) rest[j - i] = row[j];
    store_words(words + i / 2, round_pairs(rest, splat(shift)));
  }
}

/// Queries, or columns of values, of two vectors: their words lie together for all pairs of elements, or of
/// positions.
inline constexpr std::size_t kPanel = 2 * kLanes;

/// Pairs of codes of a vector of columns of two rows.
template <typename T, typename Lanes>
inline Words round_places(const T* first, const T* second, Vec shift, Vec second_shift, Lanes lanes) {
  return join(bits_of(lanes.load(first) + shift), bits_of(lanes.load(second) + second_shift));
}

/// Pairs of codes of two rows, one after another in each panel of [panels][32 pairs][kPanel], at words.
template <typename T>
inline void join_rows(std::int32_t* words, const T* first, const T* second, float shift, float second_shift,
                      std::size_t count) {
  const auto join_panel = [&](std::size_t panel, std::size_t columns) {
    for_vectors(columns, [&](std::size_t i, auto lanes) {
      store_words(words + panel * (kKvBlock / 2) + i, round_places(first + panel + i, second + panel + i,
                                                                   splat(shift), splat(second_shift), lanes));
    });
  };
  const std::size_t whole = count - count % kPanel;
#pragma GCC unroll 2
  for (std::size_t panel = 0; panel < whole; panel += kPanel) join_panel(panel, kPanel);
  if (whole != count) join_panel(whole, count - whole);
}

}  // namespace
}  // namespace lanner::kernels
