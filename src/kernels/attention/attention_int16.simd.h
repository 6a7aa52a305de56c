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
inline constexpr std::size_t kScoreStride = Int16Sizes::kScoreStride;

/// Words that are multiplied by vectors of panels: word t of row a is first[a * row + t * step].
struct TileRows {
  const std::int32_t* first;
  std::size_t row;
  std::size_t step;
};

/// sums[a][v] = sum over the words [begin, end), at least one, of products of row a with vector v of a panel.
/// A tile is a function of its own, and keeps its sums where they are: else GCC 12 moves them at each turn,
/// some of them to memory and back.
template <std::size_t Rows, std::size_t Vectors>
[[gnu::always_inline]] inline void multiply_tile(Words (&sums)[Rows][Vectors], const TileRows& rows,
                                                 const std::int32_t* panel, std::size_t begin,
                                                 std::size_t end) {
#pragma GCC unroll 8
  for (std::size_t a = 0; a < Rows; ++a)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) sums[a][v] = no_words();
  std::size_t t = begin;
  do {
    Words columns[Vectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) columns[v] = load_words(panel + t * kPanel + v * kLanes);
#pragma GCC unroll 8
    for (std::size_t a = 0; a < Rows; ++a) {
      const Words row = splat_word(rows.first + a * rows.row + t * rows.step);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v) sums[a][v] = add_products(sums[a][v], row, columns[v]);
    }
#pragma GCC unroll 8
    for (std::size_t a = 0; a < Rows; ++a)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v) keep_in_register(sums[a][v]);
  } while (++t < end);
}

/// scores[place * kScoreStride + v] = sum of products of the rows of keys with each of Vectors vectors of
/// queries [row_words][kPanel].
template <std::size_t Rows, std::size_t Vectors>
[[gnu::noinline]] void score_tile(std::int32_t* scores, const std::int32_t* keys, const std::int32_t* queries,
                                  std::size_t row_words) {
  Words sums[Rows][Vectors];
  multiply_tile(sums, {keys, row_words, 1}, queries, 0, row_words);
#pragma GCC unroll 8
  for (std::size_t a = 0; a < Rows; ++a)
#pragma GCC unroll 2
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

/// Rows of keys, and for each the shift that makes it codes.
template <typename T>
struct KeyRows {
  const T* elements;  ///< [places, head_dim]
  const float* shifts;
  std::size_t begin;  ///< places
  std::size_t end;
  std::size_t head_dim;
};

/// scores[place * kScoreStride + v] = sum of products of a row of keys with each row of queries.
template <std::size_t Queries, typename T>
[[gnu::noinline]] void dot_keys(std::int32_t* scores, const KeyRows<T>& keys, const std::int32_t* queries,
                                std::size_t row_words) {
  constexpr std::size_t kStored = (Queries + 3) / 4 * 4;
  const std::size_t whole = keys.head_dim - keys.head_dim % kPanel;
  for (std::size_t place = keys.begin; place < keys.end; ++place) {
    const T* key = keys.elements + place * keys.head_dim;
    const Vec shift = splat(keys.shifts[place]);
    Words sums[kStored];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kStored; ++v) sums[v] = no_words();
    const auto add = [&](const T* from, std::size_t word) {
      const Words k = round_pairs(from, shift);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Queries; ++v)
        sums[v] = add_products(sums[v], k, load_words(queries + v * row_words + word));
    };
#pragma GCC unroll 4
    for (std::size_t i = 0; i < whole; i += kPanel) add(key + i, i / 2);
    if (whole != keys.head_dim) {
      T rest[kPanel] = {};
      for (std::size_t i = whole; i < keys.head_dim; ++i) rest[i - whole] = key[i];
      add(rest, whole / 2);
    }
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kStored; v += 4) store_word_sums(scores + place * kScoreStride + v, sums + v);
  }
}

/// dot_keys for up to Queries rows of queries.
template <std::size_t Queries = kFewQueries, typename T>
inline void dot_few(std::int32_t* scores, const KeyRows<T>& keys, const std::int32_t* queries,
                    std::size_t count, std::size_t row_words) {
  if (count == Queries)
    dot_keys<Queries>(scores, keys, queries, row_words);
  else if constexpr (Queries > 1)
    dot_few<Queries - 1>(scores, keys, queries, count, row_words);
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
/// Vectors vectors of columns; weights [pairs][kScoreStride], values [pairs][kPanel].
template <std::size_t Rows, std::size_t Vectors, typename Lanes>
[[gnu::noinline]] void value_tile(float* const* sums, std::size_t column, const BlockFactors& factors,
                                  const std::int32_t* weights, const std::int32_t* values, Lanes lanes) {
  for (std::size_t a = 0; a < Rows; ++a) __builtin_prefetch(sums[a] + column, 1);
  Words products[Rows][Vectors];
  multiply_tile(products, {weights, 1, kScoreStride}, values, factors.pair_begin, factors.pair_end);
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

/// The positions that every query of a pass attends.
inline KeyRange shared_range(const AttentionPass& pass) {
  KeyRange range = {0, static_cast<std::size_t>(-1)};
  for (std::size_t i = 0; i < pass.count; ++i) {
    range.begin = larger(range.begin, pass.begin[i]);
    range.end = smaller(range.end, pass.end[i]);
  }
  return range;
}

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
    const auto round_keys = [&](const BlockPlaces& some, const float* shifts) {
      take_keys(pass, keys, some, shifts);
    };
    scale_rows(keys, places, {key_scales_, score_code_, block.values}, pass.head_dim, round_keys);
    if (!few_) multiply_keys(pass.count, places);

    const auto* values = rows_(block.values, places.low, places.high, widened_);
    const auto round_values = [&](const BlockPlaces& some, const float* shifts) {
      for (std::size_t pair = some.low / 2; pair < (some.high + 1) / 2; ++pair)
        round_pair_of_values(values, pair, some, shifts, pass.head_dim);
    };
    scale_rows(values, places, {value_scales_, static_cast<float>(kInt16WeightCode), block.next_keys},
               pass.head_dim, round_values);
    for (std::size_t query = 0; query < pass.count; query += kLanes) weigh(pass, query, places);
    add_values(pass, places);
  }

 private:
  /// Few queries lie row by row, more in panels of vectors of queries.
  void round_queries(const AttentionPass& pass) {
    for (std::size_t query = 0; query < pass.count; ++query) {
      std::int32_t* row = few_ ? queries_ + query * row_words_ : query_words_;
      float scale = largest_magnitude(pass.q[query], pass.head_dim);
      float shift = 0;
      row_scales(&scale, &shift, 1, score_code_);
      round_row(row, pass.q[query], pass.head_dim, shift);
      query_scales_[query] = scale * pass.scale;
      std::int32_t* panel = queries_ + query / kPanel * row_words_ * kPanel + query % kPanel;
      for (std::size_t i = 0; i < row_words_ && !few_; ++i) panel[i * kPanel] = row[i];
    }
    if (pass.count % kLanes == 0) whole_ = shared_range(pass);
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
    if (block_begin >= whole_.begin && block_begin + kKvBlock <= whole_.end)
      return {.low = 0, .high = kKvBlock};
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

  /// What rows of keys or values become: their scales go to `scales`, codes are at most `code`, and meanwhile
  /// the memory of the same places at `ahead`, if any, is read ahead.
  struct Rounding {
    float* scales;
    float code;
    const std::byte* ahead;
  };

  /// Calls round(places, shifts) for some places after another, while their rows are in the first-level
  /// cache.
  template <typename T, typename Round>
  void scale_rows(const T* rows, const BlockPlaces& all, const Rounding& to, std::size_t head_dim,
                  const Round& round) const {
    constexpr std::size_t kTogether = 16;
    float shifts[kKvBlock];
    for (BlockPlaces some = all; some.low < all.high; some.low = some.high) {
      some.high = smaller((some.low / kTogether + 1) * kTogether, all.high);
      for (std::size_t place = some.low; place < some.high; ++place) {
        if (to.ahead != nullptr) read_ahead(to.ahead, place);
        to.scales[place] = largest_magnitude(rows + place * head_dim, head_dim);
      }
      row_scales(to.scales + some.low, shifts + some.low, some.high - some.low, to.code);
      round(some, shifts);
    }
  }

  /// Scores of few queries, or codes of keys for many.
  template <typename T>
  void take_keys(const AttentionPass& pass, const T* keys, const BlockPlaces& places,
                 const float* shifts) const {
    if (few_) {
      const KeyRows<T> rows = {keys, shifts, places.low, places.high, pass.head_dim};
      return dot_few(scores_, rows, queries_, pass.count, row_words_);
    }
    for (std::size_t place = places.low; place < places.high; ++place)
      round_row(keys_ + place * row_words_, keys + place * pass.head_dim, pass.head_dim, shifts[place]);
  }

  void multiply_keys(std::size_t queries, const BlockPlaces& places) const {
    const std::int32_t* keys = keys_ + places.low * row_words_;
    for (std::size_t query = 0; query < queries; query += kPanel) {
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

  /// A pair of places becomes words; of a place that no query attends, those of another one: its weights are
  /// 0.
  template <typename T>
  void round_pair_of_values(const T* values, std::size_t pair, const BlockPlaces& places, const float* shifts,
                            std::size_t head_dim) const {
    const std::size_t first = larger(2 * pair, places.low);
    const std::size_t second = smaller(2 * pair + 1, places.high - 1);
    join_rows(values_ + pair * kPanel, values + first * head_dim, values + second * head_dim, shifts[first],
              shifts[second], head_dim);
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
    float* shares = reinterpret_cast<float*>(scores_) + query;
    if (places.low % 2 > 0) store(shares + (places.low - 1) * kScoreStride, splat(0));
    if (places.high % 2 > 0) store(shares + places.high * kScoreStride, splat(0));
    for (std::size_t pair = places.low / 2; pair < (places.high + 1) / 2; ++pair) {
      const float* const from = shares + 2 * pair * kScoreStride;
      store_words(scores_ + query + pair * kScoreStride,
                  join(rounded(load(from) * inverse), rounded(load(from + kScoreStride) * inverse)));
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
        for (std::size_t c = column; c < smaller(column + kValueColumns, pass.head_dim); c += kPanel)
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
    if (rest >= kPanel) return add(std::integral_constant<std::size_t, 2>{}, 0, WholeLanes{});
    if (rest >= kLanes) add(kOne, 0, WholeLanes{});
    if (rest % kLanes > 0) add(kOne, rest - rest % kLanes, FirstLanes{rest % kLanes});
  }

  Rows rows_;
  std::size_t place_bytes_;
  bool few_;
  std::size_t row_words_;
  float score_code_;
  KeyRange whole_ = {0, 0};    ///< positions where no score is masked
  std::int32_t* queries_;      ///< [panels][row_words][kPanel]
  std::int32_t* scores_;       ///< [64][kScoreStride], then pairs of codes of weights in place
  std::int32_t* keys_;         ///< [64][row_words]
  std::int32_t* values_;       ///< [panels][32][kPanel]
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
