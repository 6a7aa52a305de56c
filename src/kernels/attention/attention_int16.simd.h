// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/attention/attention_pass.simd.h"
#include "kernels/attention/int16_rows.simd.h"

namespace lanner::kernels {
namespace {

/// Sums that a tile keeps in registers: rows of one operand times two vectors of the other.
inline constexpr std::size_t kTileRows = kLanes == 8 ? 5 : 8;
/// Queries of two vectors, whose words lie together for all pairs of elements.
inline constexpr std::size_t kQueryPanel = 2 * kLanes;

inline constexpr std::size_t kScoreStride = Int16Sizes::kScoreStride;

/// scores[place * kScoreStride + v] = sum of products of the rows of keys with each of Vectors vectors of
/// queries [row_words][kQueryPanel].
template <std::size_t Rows, std::size_t Vectors>
inline void score_tile(std::int32_t* scores, const std::int32_t* keys, const std::int32_t* queries,
                       std::size_t row_words) {
  Words sums[Rows][Vectors];
  for (auto& row : sums)
    for (Words& sum : row) sum = no_words();
      // GCC 12 moves every sum to another register at the end of each turn: few turns, then.
#pragma GCC unroll 4
  for (std::size_t i = 0; i < row_words; ++i) {
    Words q[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) q[v] = load_words(queries + i * kQueryPanel + v * kLanes);
    for (std::size_t a = 0; a < Rows; ++a) {
      const Words k = splat_word(keys + a * row_words + i);
      for (std::size_t v = 0; v < Vectors; ++v) sums[a][v] = add_products(sums[a][v], k, q[v]);
    }
  }
  for (std::size_t a = 0; a < Rows; ++a)
    for (std::size_t v = 0; v < Vectors; ++v) store_words(scores + a * kScoreStride + v * kLanes, sums[a][v]);
}

template <std::size_t Vectors, std::size_t Rows = kTileRows>
inline void score_rows(std::int32_t* scores, const std::int32_t* keys, std::size_t places,
                       const std::int32_t* queries, std::size_t row_words) {
  for (; places >= Rows; places -= Rows, keys += Rows * row_words, scores += Rows * kScoreStride)
    score_tile<Rows, Vectors>(scores, keys, queries, row_words);
  if constexpr (Rows > 1) score_rows<Vectors, Rows / 2>(scores, keys, places, queries, row_words);
}

/// Queries up to which scores are sums over the lanes: with more, vectors of queries have fewer idle lanes.
inline constexpr std::size_t kFewQueries = kLanes / 2;

/// scores[v] = sum of products of a row of keys with each of up to 4 rows of queries.
template <std::size_t Queries>
inline void dot_words(std::int32_t* scores, const std::int32_t* key, const std::int32_t* queries,
                      std::size_t row_words) {
  Words sums[4] = {no_words(), no_words(), no_words(), no_words()};
#pragma GCC unroll 4
  for (std::size_t i = 0; i < row_words; i += kLanes) {
    const Words k = load_words(key + i);
    for (std::size_t v = 0; v < Queries; ++v)
      sums[v] = add_products(sums[v], k, load_words(queries + v * row_words + i));
  }
  store_word_sums(scores, sums);
}

template <std::size_t Queries = 4>
inline void dot_queries(std::int32_t* scores, const std::int32_t* key, const std::int32_t* queries,
                        std::size_t count, std::size_t row_words) {
  for (; count >= Queries; count -= Queries, scores += Queries, queries += Queries * row_words)
    dot_words<Queries>(scores, key, queries, row_words);
  if constexpr (Queries > 1) dot_queries<Queries - 1>(scores, key, queries, count, row_words);
}

/// Columns of values whose words take 8 KB.
inline constexpr std::size_t kValueColumns = 64;

/// Factors of the queries of a pass for one block.
struct BlockFactors {
  const float* correction;  ///< of what was summed before
  const float* worth;       ///< of the block's sums of codes
  std::size_t pair_begin;   ///< pairs of places that some query attends
  std::size_t pair_end;
};

/// sums[query] = sums[query] * correction + worth * (codes of weights · codes of values) for Rows queries and
/// Vectors vectors of columns; weights [pairs][kScoreStride], values [pairs][kValuePanel].
template <std::size_t Rows, std::size_t Vectors, typename Lanes>
inline void value_tile(float* const* sums, std::size_t column, const BlockFactors& factors,
                       const std::int32_t* weights, const std::int32_t* values, Lanes lanes) {
  Words products[Rows][Vectors];
  for (auto& row : products)
    for (Words& product : row) product = no_words();
  for (std::size_t a = 0; a < Rows; ++a) __builtin_prefetch(sums[a] + column, 1);
#pragma GCC unroll 4
  for (std::size_t t = factors.pair_begin; t < factors.pair_end; ++t) {
    Words v[Vectors];
    for (std::size_t i = 0; i < Vectors; ++i) v[i] = load_words(values + t * kValuePanel + i * kLanes);
    for (std::size_t a = 0; a < Rows; ++a) {
      const Words w = splat_word(weights + t * kScoreStride + a);
      for (std::size_t i = 0; i < Vectors; ++i) products[a][i] = add_products(products[a][i], w, v[i]);
    }
  }
  for (std::size_t a = 0; a < Rows; ++a)
    for (std::size_t i = 0; i < Vectors; ++i) {
      float* to = sums[a] + column + i * kLanes;
      const Vec before = lanes.load(to) * splat(factors.correction[a]);
      lanes.store(to, fma(to_float(products[a][i]), splat(factors.worth[a]), before));
    }
}

/// value_tile for up to Rows queries.
template <std::size_t Vectors, typename Lanes, std::size_t Rows = kTileRows>
inline void value_rows(float* const* sums, std::size_t queries, std::size_t column,
                       const BlockFactors& factors, const std::int32_t* weights, const std::int32_t* values,
                       Lanes lanes) {
  if (queries == Rows)
    value_tile<Rows, Vectors>(sums, column, factors, weights, values, lanes);
  else if constexpr (Rows > 1)
    value_rows<Vectors, Lanes, Rows - 1>(sums, queries, column, factors, weights, values, lanes);
}

/// The places of a block that some query attends, and whether some query does not attend all of the block.
struct BlockPlaces {
  std::size_t low = kKvBlock;
  std::size_t high = 0;
  bool partly = false;
};

/// Blocks in integers: a pass rounds its queries once, and the keys and values of each block once.
template <typename Rows>
class Int16Block {
 public:
  Int16Block(const AttentionPass& pass, const Rows& rows, std::size_t head_bytes)
      : rows_(rows),
        place_bytes_(head_bytes / kKvBlock),
        few_(pass.count <= kFewQueries),
        row_words_(Int16Sizes(pass.head_dim).row_words()),
        score_code_(static_cast<float>(int16_score_code(pass.head_dim))) {
    float* memory = pass.block_scratch;
    const auto floats = [&](std::size_t count) {
      memory += count;
      return memory - count;
    };
    const auto words = [&](std::size_t count) { return reinterpret_cast<std::int32_t*>(floats(count)); };
    queries_ = words(kInt16PassQueries * row_words_);
    scores_ = words(kKvBlock * kScoreStride);
    keys_ = words(kKvBlock * row_words_);
    values_ = words(kKvBlock * row_words_);
    query_words_ = words(row_words_);
    query_scales_ = floats(kInt16PassQueries);
    low_ = floats(kInt16PassQueries);
    high_ = floats(kInt16PassQueries);
    correction_ = floats(kInt16PassQueries);
    worth_ = floats(kInt16PassQueries);
    key_scales_ = floats(kKvBlock);
    value_scales_ = floats(kKvBlock);
    widened_ = memory;
    round_queries(pass);
  }

  void operator()(AttentionPass& pass, const HeadBlock& block) const {
    const BlockPlaces places = find_places(pass, block.begin);
    if (places.low >= places.high) return;
    const auto* keys = rows_(block.keys, places.low, places.high, widened_);
    for (std::size_t place = places.low; place < places.high; ++place) {
      read_ahead(block.values, place);
      std::int32_t* words = few_ ? query_words_ : keys_ + place * row_words_;
      key_scales_[place] = round_row(words, keys + place * pass.head_dim, pass.head_dim, score_code_);
      if (few_) dot_queries(scores_ + place * kScoreStride, words, queries_, pass.count, row_words_);
    }
    if (!few_) multiply_keys(pass.count, places);

    const auto* values = rows_(block.values, places.low, places.high, widened_);
    for (std::size_t pair = places.low / 2; pair < (places.high + 1) / 2; ++pair) {
      if (block.next_keys != nullptr) {
        read_ahead(block.next_keys, 2 * pair);
        read_ahead(block.next_keys, 2 * pair + 1);
      }
      round_values(values, pair, places, pass.head_dim);
    }
    for (std::size_t query = 0; query < pass.count; query += kLanes) weigh(pass, query, places);
    add_values(pass, places);
  }

 private:
  /// Few queries lie row by row, more in panels of vectors of queries.
  void round_queries(const AttentionPass& pass) const {
    for (std::size_t query = 0; query < pass.count; ++query) {
      std::int32_t* row = few_ ? queries_ + query * row_words_ : query_words_;
      query_scales_[query] = round_row(row, pass.q[query], pass.head_dim, score_code_) * pass.scale;
      std::int32_t* panel = queries_ + query / kQueryPanel * row_words_ * kQueryPanel + query % kQueryPanel;
      for (std::size_t i = 0; i < row_words_ && !few_; ++i) panel[i * kQueryPanel] = row[i];
    }
    // Lanes beyond the last query attend nothing.
    for (std::size_t query = pass.count; query < padded(pass.count); ++query) {
      query_scales_[query] = 0;
      low_[query] = kKvBlock;
      high_[query] = 0;
      pass.largest[query] = kMinusInfinity;
      pass.total[query] = 0;
    }
  }

  /// Queries that are computed for `count`.
  static std::size_t padded(std::size_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

  BlockPlaces find_places(const AttentionPass& pass, std::size_t block_begin) const {
    BlockPlaces places{.partly = padded(pass.count) != pass.count};
    for (std::size_t i = 0; i < pass.count; ++i) {
      const std::size_t begin = smaller(larger(pass.begin[i], block_begin) - block_begin, kKvBlock);
      const std::size_t end = smaller(larger(pass.end[i], block_begin) - block_begin, kKvBlock);
      low_[i] = static_cast<float>(begin);
      high_[i] = static_cast<float>(end);
      places.partly |= begin > 0 || end < kKvBlock;
      if (begin >= end) continue;
      places.low = smaller(places.low, begin);
      places.high = larger(places.high, end);
    }
    return places;
  }

  void multiply_keys(std::size_t queries, const BlockPlaces& places) const {
    const std::int32_t* keys = keys_ + places.low * row_words_;
    if (queries <= kFewQueries) {
      for (std::size_t place = places.low; place < places.high; ++place)
        dot_queries(scores_ + place * kScoreStride, keys_ + place * row_words_, queries_, queries,
                    row_words_);
      return;
    }
    for (std::size_t query = 0; query < queries; query += kQueryPanel) {
      const std::int32_t* panel = queries_ + query * row_words_;
      std::int32_t* scores = scores_ + places.low * kScoreStride + query;
      if (queries - query > kLanes)
        score_rows<2>(scores, keys, places.high - places.low, panel, row_words_);
      else
        score_rows<1>(scores, keys, places.high - places.low, panel, row_words_);
    }
  }

  /// The memory of a place on its way into the cache: with few queries memory is what bounds a block.
  void read_ahead(const std::byte* head, std::size_t place) const {
    constexpr std::size_t kLine = 64;
    const std::byte* const from = head + place * place_bytes_;
    for (std::size_t i = 0; i < place_bytes_; i += kLine) __builtin_prefetch(from + i);
  }

  /// A pair of places becomes words; a place that no query attends becomes zeros.
  template <typename T>
  void round_values(const T* values, std::size_t pair, const BlockPlaces& places,
                    std::size_t head_dim) const {
    RowScale scales[2];
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t place = 2 * pair + side;
      if (place >= places.low && place < places.high)
        scales[side] = row_scale(values + place * head_dim, head_dim, static_cast<float>(kInt16WeightCode));
      value_scales_[place] = scales[side].scale;
    }
    const std::size_t first = larger(2 * pair, places.low);
    const std::size_t second = smaller(2 * pair + 1, places.high - 1);
    join_rows(values_ + pair * kValuePanel, values + first * head_dim, values + second * head_dim, scales[0],
              scales[1], head_dim);
  }

  /// Turns the scores of kLanes queries into pairs of codes of weights times the values' scales.
  void weigh(AttentionPass& pass, std::size_t query, const BlockPlaces& places) const {
    auto* scores = reinterpret_cast<float*>(scores_) + query;
    const Vec scale = load(query_scales_ + query);
    const Vec low = load(low_ + query);
    const Vec high = load(high_ + query);
    const Vec minus_infinity = splat(kMinusInfinity);
    Vec most = minus_infinity;
    for (std::size_t place = places.low; place < places.high; ++place) {
      const Vec product = to_float(load_words(scores_ + query + place * kScoreStride));
      Vec score = product * (scale * splat(key_scales_[place]));
      if (places.partly) {
        const Vec at = splat(static_cast<float>(place));
        score = select_less(at, high, select_less(at, low, minus_infinity, score), minus_infinity);
      }
      most = max(most, score);
      store(scores + place * kScoreStride, score);
    }
    const Vec before = load(pass.largest + query);
    const Vec now = max(before, most);
    // Of a query that has attended nothing yet, every weight is 0.
    const Vec base = max(now, splat(-3e38F));
    const Vec correction = vec_exp(before - base);

    Vec sum = splat(0);
    Vec largest = splat(0);
    for (std::size_t place = places.low; place < places.high; ++place) {
      const Vec weight = vec_exp(load(scores + place * kScoreStride) - base);
      const Vec share = weight * splat(value_scales_[place]);
      sum = sum + weight;
      largest = max(largest, share);
      store(scores + place * kScoreStride, share);
    }
    const auto code = static_cast<float>(kInt16WeightCode);
    const Vec inverse = select_less(splat(kSmallestRow), largest, splat(code) / largest, splat(0));
    round_shares(query, places, inverse);
    store(pass.largest + query, now);
    store(pass.total + query, load(pass.total + query) * correction + sum);
    store(correction_ + query, correction);
    store(worth_ + query, select_less(splat(kSmallestRow), largest, largest / splat(code), splat(0)));
  }

  /// In place: the words of a pair lie where no later pair reads.
  void round_shares(std::size_t query, const BlockPlaces& places, Vec inverse) const {
    const float* shares = reinterpret_cast<const float*>(scores_) + query;
    for (std::size_t pair = places.low / 2; pair < (places.high + 1) / 2; ++pair) {
      Vec share[2] = {splat(0), splat(0)};
      for (std::size_t side = 0; side < 2; ++side)
        if (const std::size_t place = 2 * pair + side; place >= places.low && place < places.high)
          share[side] = load(shares + place * kScoreStride);
      store_words(scores_ + query + pair * kScoreStride,
                  join(rounded(share[0] * inverse), rounded(share[1] * inverse)));
    }
  }

  void add_values(AttentionPass& pass, const BlockPlaces& places) const {
    const BlockFactors all = {correction_, worth_, places.low / 2, (places.high + 1) / 2};
    // Some columns of every query at a time, so that their values stay in the first-level cache.
    for (std::size_t column = 0; column < pass.head_dim; column += kValueColumns)
      for (std::size_t query = 0; query < pass.count; query += kTileRows) {
        const std::size_t queries = smaller(kTileRows, pass.count - query);
        BlockFactors factors = all;
        factors.correction += query;
        factors.worth += query;
        for (std::size_t c = column; c < smaller(column + kValueColumns, pass.head_dim); c += kValuePanel)
          add_panel(pass.sums + query, queries, factors, scores_ + query, c, pass.head_dim - c);
      }
  }

  /// One panel of columns of up to kTileRows queries; `rest` columns are left.
  void add_panel(float* const* sums, std::size_t queries, const BlockFactors& factors,
                 const std::int32_t* weights, std::size_t column, std::size_t rest) const {
    const std::int32_t* values = values_ + column * (kKvBlock / 2);
    const auto add = [&](auto vectors, std::size_t first, auto lanes) {
      value_rows<decltype(vectors)::value>(sums, queries, column + first, factors, weights, values + first,
                                           lanes);
    };
    constexpr std::integral_constant<std::size_t, 1> kOne;
    if (rest >= kValuePanel) return add(std::integral_constant<std::size_t, 2>{}, 0, WholeLanes{});
    if (rest >= kLanes) add(kOne, 0, WholeLanes{});
    if (rest % kLanes > 0) add(kOne, rest - rest % kLanes, FirstLanes{rest % kLanes});
  }

  Rows rows_;
  std::size_t place_bytes_;
  bool few_;
  std::size_t row_words_;
  float score_code_;
  std::int32_t* queries_;      ///< [panels][row_words][kQueryPanel]
  std::int32_t* scores_;       ///< [64][kScoreStride], then pairs of codes of weights in place
  std::int32_t* keys_;         ///< [64][row_words]
  std::int32_t* values_;       ///< [panels][32][kValuePanel]
  std::int32_t* query_words_;  ///< [row_words], a row on its way
  float* query_scales_;        ///< of every query, as all below
  float* low_;                 ///< places [low, high) of the block are attended
  float* high_;
  float* correction_;
  float* worth_;
  float* key_scales_;    ///< [64]
  float* value_scales_;  ///< [64]
  float* widened_;       ///< [64, head_dim] of quantized keys, then values
};

}  // namespace
}  // namespace lanner::kernels
