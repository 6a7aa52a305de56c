// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/int16_rows.simd.h"

// Products for few queries: each row of keys or values is rounded on its way into them, and no code is
// stored.
namespace lanner::kernels {
namespace {

inline constexpr std::size_t kScoreStride = Int16Sizes::kScoreStride;

/// Queries up to which scores are sums over the lanes: with more, vectors of queries have fewer idle lanes.
inline constexpr std::size_t kFewQueries = kLanes / 2;

inline constexpr std::size_t kCacheLine = 64;

/// Memory that comes into the cache line by line while other memory is computed with: a block of few queries
/// takes little longer than reading it.
struct ReadAhead {
  const std::byte* next;
  const std::byte* end;

  void lines(std::size_t count) {
    for (std::size_t i = 0; i < count && next < end; ++i, next += kCacheLine) __builtin_prefetch(next);
  }
};

/// Factors of the queries of a pass for one block.
struct BlockFactors {
  const float* correction;  ///< of what was summed before
  const float* worth;       ///< of the block's sums of codes
  std::size_t pair_begin;   ///< pairs of places that some query attends
  std::size_t pair_end;
};

/// sums[query] = sums[query] * correction + worth * products, for Vectors vectors of columns from `column`
/// on.
template <std::size_t Rows, std::size_t Vectors, typename Lanes>
[[gnu::always_inline]] inline void add_block(float* const* sums, std::size_t column,
                                             const BlockFactors& factors,
                                             const Words (&products)[Rows][Vectors], Lanes lanes) {
#pragma GCC unroll 8
  for (std::size_t a = 0; a < Rows; ++a) {
    float* const to = sums[a] + column;
    const Vec correction = splat(factors.correction[a]);
    const Vec worth = splat(factors.worth[a]);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < Vectors; ++i) {
      const Vec before = lanes.load(to + i * kLanes) * correction;
      lanes.store(to + i * kLanes, fma(to_float(products[a][i]), worth, before));
    }
  }
}

/// Rows of keys or values of a block, and for each the shift that makes it codes.
template <typename T>
struct ShiftedRows {
  const T* elements;    ///< [64, head_dim]
  const float* shifts;  ///< [64]
  std::size_t begin;    ///< places
  std::size_t end;
  std::size_t head_dim;
};

/// sums[v] += products of a row of keys with row v of queries, over `vectors` vectors of pairs.
template <std::size_t Queries, std::size_t Stored, typename T>
[[gnu::always_inline]] inline void add_dots(Words (&sums)[Stored], const T* key, Vec shift,
                                            const std::int32_t* queries, std::size_t vectors) {
#pragma GCC unroll 4
  for (std::size_t i = 0; i < vectors; ++i) {
    const Words codes = round_pairs(key + i * kPanel, shift);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Queries; ++v)
      sums[v] = add_products(sums[v], codes, load_words(queries + (i * Queries + v) * kLanes));
  }
}

/// scores[place * kScoreStride + v] = sum of products of a row of keys with row v of queries, which lie as
/// [row_words / kLanes][Queries][kLanes].
template <std::size_t Queries, typename T>
[[gnu::noinline]] void dot_keys(std::int32_t* scores, const ShiftedRows<T>& keys, const std::int32_t* queries,
                                ReadAhead& read_ahead, std::size_t lines) {
  constexpr std::size_t kStored = (Queries + 3) / 4 * 4;
  const std::size_t vectors = keys.head_dim / kPanel;
  const std::size_t rest = keys.head_dim % kPanel;
  ReadAhead ahead = read_ahead;
  for (std::size_t place = keys.begin; place < keys.end; ++place) {
    const T* key = keys.elements + place * keys.head_dim;
    const Vec shift = splat(keys.shifts[place]);
    ahead.lines(lines);
    Words sums[kStored];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kStored; ++v) sums[v] = no_words();
    add_dots<Queries>(sums, key, shift, queries, vectors);
    if (rest > 0) {
      T filled_up[kPanel] = {};
      for (std::size_t i = 0; i < rest; ++i) filled_up[i] = key[vectors * kPanel + i];
      add_dots<Queries>(sums, filled_up, shift, queries + vectors * Queries * kLanes, 1);
    }
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kStored; v += 4) store_word_sums(scores + place * kScoreStride + v, sums + v);
  }
  read_ahead = ahead;
}

/// dot_keys for `count` of up to Queries rows of queries.
template <std::size_t Queries = kFewQueries, typename T>
inline void dot_few(std::int32_t* scores, const ShiftedRows<T>& keys, const std::int32_t* queries,
                    std::size_t count, ReadAhead& ahead, std::size_t lines) {
  if (count == Queries)
    dot_keys<Queries>(scores, keys, queries, ahead, lines);
  else if constexpr (Queries > 1)
    dot_few<Queries - 1>(scores, keys, queries, count, ahead, lines);
}

/// Pairs of places of a block: those of pair p + 1 lie two places after those of pair p.
struct PairRun {
  std::size_t first;   ///< place of the first pair
  std::size_t second;  ///< place beside it
  std::size_t begin;   ///< pairs
  std::size_t end;
};

/// The pairs of places [begin, end). Beside a place that stands alone in its pair, that place itself stands
/// for the other one, whose weights are 0.
class PairRuns {
 public:
  PairRuns(std::size_t begin, std::size_t end) {
    if (begin % 2 > 0) add({begin, begin, begin / 2, begin / 2 + 1});
    const std::size_t first = (begin + 1) / 2;
    if (first < end / 2) add({2 * first, 2 * first + 1, first, end / 2});
    if (end % 2 > 0 && end > begin + begin % 2) add({end - 1, end - 1, end / 2, end / 2 + 1});
  }
  const PairRun* begin() const { return runs_; }
  const PairRun* end() const { return runs_ + count_; }

 private:
  void add(const PairRun& run) { runs_[count_++] = run; }

  PairRun runs_[3];
  std::size_t count_ = 0;
};

/// Adds a block of values to Queries sums, in Vectors vectors of columns from `column` on; weights are pairs
/// of places [pairs][kScoreStride].
template <std::size_t Queries, std::size_t Vectors, typename T, typename Lanes>
inline void add_columns(float* const* sums, std::size_t column, const BlockFactors& factors,
                        const std::int32_t* weights, const ShiftedRows<T>& values, const PairRuns& runs,
                        ReadAhead& read_ahead, Lanes lanes) {
  constexpr std::size_t kLines = (2 * kPanel * sizeof(std::uint16_t) + kCacheLine - 1) / kCacheLine;
  ReadAhead ahead = read_ahead;
  Words products[Queries][Vectors];
#pragma GCC unroll 8
  for (std::size_t a = 0; a < Queries; ++a)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) products[a][v] = no_words();
  const std::size_t stride = 2 * values.head_dim;
  for (const PairRun& run : runs) {
    const T* first = values.elements + run.first * values.head_dim + column;
    const T* second = values.elements + run.second * values.head_dim + column;
    const float* first_shift = values.shifts + run.first;
    const float* second_shift = values.shifts + run.second;
    const std::int32_t* weight = weights + run.begin * kScoreStride;
    const std::int32_t* const end = weights + run.end * kScoreStride;
    do {
      ahead.lines(kLines);
      Words codes[Vectors];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v)
        codes[v] = round_places(first + v * kLanes, second + v * kLanes, splat(*first_shift),
                                splat(*second_shift), lanes);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < Queries; ++a) {
        const Words w = splat_word(weight + a);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v) products[a][v] = add_products(products[a][v], w, codes[v]);
      }
#pragma GCC unroll 8
      for (std::size_t a = 0; a < Queries; ++a)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v) keep_in_register(products[a][v]);
      first += stride;
      second += stride;
      first_shift += 2;
      second_shift += 2;
      weight += kScoreStride;
    } while (weight < end);
  }
  add_block(sums, column, factors, products, lanes);
  read_ahead = ahead;
}

/// All columns.
template <std::size_t Queries, typename T>
[[gnu::noinline]] void sum_values(float* const* sums, const BlockFactors& factors,
                                  const std::int32_t* weights, const ShiftedRows<T>& values,
                                  ReadAhead ahead) {
  const PairRuns runs(values.begin, values.end);
  std::size_t column = 0;
  for (; column + kPanel <= values.head_dim; column += kPanel)
    add_columns<Queries, 2>(sums, column, factors, weights, values, runs, ahead, WholeLanes{});
  for_vectors(values.head_dim - column, [&](std::size_t i, auto lanes) {
    add_columns<Queries, 1>(sums, column + i, factors, weights, values, runs, ahead, lanes);
  });
}

/// sum_values for `count` of up to Queries queries.
template <std::size_t Queries = kFewQueries, typename T>
inline void add_few(float* const* sums, std::size_t count, const BlockFactors& factors,
                    const std::int32_t* weights, const ShiftedRows<T>& values, ReadAhead ahead) {
  if (count == Queries)
    sum_values<Queries>(sums, factors, weights, values, ahead);
  else if constexpr (Queries > 1)
    add_few<Queries - 1>(sums, count, factors, weights, values, ahead);
}

}  // namespace
}  // namespace lanner::kernels
