// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/attention/attention_pass.simd.h"
#include "kernels/attention/int16_few.simd.h"
#include "kernels/attention/int16_rows.simd.h"

namespace lanner::kernels {
namespace {

/// Sums that a tile keeps in registers: rows of one operand times two vectors of the other.
inline constexpr std::size_t kTileRows = kLanes == 8 ? 5 : 8;

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

/// Columns of values whose words take 8 KB.
inline constexpr std::size_t kValueColumns = 64;

/// sums[query] = sums[query] * correction + worth * (codes of weights · codes of values) for Rows queries and
/// Vectors vectors of columns; weights [pairs][kScoreStride], values [pairs][kPanel].
template <std::size_t Rows, std::size_t Vectors, typename Lanes>
[[gnu::noinline]] void value_tile(float* const* sums, std::size_t column, const BlockFactors& factors,
                                  const std::int32_t* weights, const std::int32_t* values, Lanes lanes) {
  for (std::size_t a = 0; a < Rows; ++a) __builtin_prefetch(sums[a] + column, 1);
  Words products[Rows][Vectors];
  multiply_tile(products, {weights, 1, kScoreStride}, values, factors.pair_begin, factors.pair_end);
  add_block(sums, column, factors, products, lanes);
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
    const Scaling keys = {key_scales_, score_code_, ahead_of(block.values)};
    const Scaling values = {value_scales_, static_cast<float>(kInt16WeightCode), ahead_of(block.next_keys)};
    const auto* key_rows = rows_(block.keys, places.low, places.high, widened_);
    if (few_)
      score_few(pass, key_rows, places, keys);
    else
      score_many(pass, key_rows, places, keys);
    const auto* value_rows = rows_(block.values, places.low, places.high, widened_);
    if (few_)
      add_to_few(pass, value_rows, places, values);
    else
      add_to_many(pass, value_rows, places, values);
  }

 private:
  void round_queries(const AttentionPass& pass) {
    for (std::size_t query = 0; query < pass.count; ++query) {
      float scale = largest_magnitude(pass.q[query], pass.head_dim);
      float shift = 0;
      row_scales(&scale, &shift, 1, score_code_);
      round_row(query_words_, pass.q[query], pass.head_dim, shift);
      query_scales_[query] = scale * pass.scale;
      place_query(query, pass.count);
    }
    whole_ = shared_range(pass);
    // Lanes beyond the last query attend everything with scores of 0: weights that underflow would take
    // longer.
    for (std::size_t query = pass.count; query < padded(pass.count); ++query) {
      query_scales_[query] = 0;
      low_[query] = 0;
      high_[query] = kKvBlock;
      pass.largest[query] = kMinusInfinity;
      pass.total[query] = 0;
    }
  }

  /// Few queries lie beside each other vector by vector, more in panels of vectors of queries.
  void place_query(std::size_t query, std::size_t count) const {
    if (few_) {
      for (std::size_t i = 0; i < row_words_; i += kLanes)
        store_words(queries_ + i * count + query * kLanes, load_words(query_words_ + i));
      return;
    }
    std::int32_t* panel = queries_ + query / kPanel * row_words_ * kPanel + query % kPanel;
    for (std::size_t i = 0; i < row_words_; ++i) panel[i * kPanel] = query_words_[i];
  }

  /// Queries that are computed for `count`.
  static std::size_t padded(std::size_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

  BlockPlaces find_places(const AttentionPass& pass, std::size_t block_begin) const {
    if (block_begin >= whole_.begin && block_begin + kKvBlock <= whole_.end)
      return {.low = 0, .high = kKvBlock};
    BlockPlaces places;
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

  ReadAhead ahead_of(const std::byte* head) const {
    return {head, head == nullptr ? nullptr : head + kKvBlock * place_bytes_};
  }

  /// Lines of a block that are read ahead for each of its places.
  std::size_t lines_of_place() const { return (place_bytes_ + kCacheLine - 1) / kCacheLine; }

  /// What rows of keys or values become: their scales go to `scales`, codes are at most `code`, and meanwhile
  /// other memory is read ahead.
  struct Scaling {
    float* scales;
    float code;
    ReadAhead ahead;
  };

  /// Calls then(rows) for some rows after another, whose shifts are known and which are in the first-level
  /// cache.
  template <typename T, typename Then>
  void scale_rows(const T* rows, const BlockPlaces& all, const Scaling& to, std::size_t head_dim,
                  const Then& then) const {
    constexpr std::size_t kTogether = 16;
    float shifts[kKvBlock];
    for (ShiftedRows<T> some = {rows, shifts, all.low, 0, head_dim}; some.begin < all.high;
         some.begin = some.end) {
      some.end = smaller((some.begin / kTogether + 1) * kTogether, all.high);
      for (std::size_t place = some.begin; place < some.end; ++place)
        to.scales[place] = largest_magnitude(rows + place * head_dim, head_dim);
      row_scales(to.scales + some.begin, shifts + some.begin, some.end - some.begin, to.code);
      then(some);
    }
  }

  template <typename T>
  void score_few(const AttentionPass& pass, const T* keys, const BlockPlaces& places, Scaling to) const {
    const std::size_t lines = lines_of_place();
    scale_rows(keys, places, to, pass.head_dim, [&](const ShiftedRows<T>& some) {
      dot_few(scores_, some, queries_, pass.count, to.ahead, lines);
    });
  }

  template <typename T>
  void score_many(const AttentionPass& pass, const T* keys, const BlockPlaces& places, Scaling to) const {
    scale_rows(keys, places, to, pass.head_dim, [&](const ShiftedRows<T>& some) {
      for (std::size_t place = some.begin; place < some.end; ++place) {
        to.ahead.lines(lines_of_place());
        round_row(keys_ + place * row_words_, keys + place * pass.head_dim, pass.head_dim,
                  some.shifts[place]);
      }
    });
    multiply_keys(pass.count, places);
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

  template <typename T>
  void add_to_few(AttentionPass& pass, const T* values, const BlockPlaces& places, Scaling to) const {
    float shifts[kKvBlock];
    const ShiftedRows<T> rows = {values, shifts, places.low, places.high, pass.head_dim};
    scale_rows(values, places, to, pass.head_dim, [&](const ShiftedRows<T>& some) {
      for (std::size_t place = some.begin; place < some.end; ++place) shifts[place] = some.shifts[place];
    });
    weigh(pass, 0, places);
    add_few(pass.sums, pass.count, factors_of(places), scores_, rows, to.ahead);
  }

  template <typename T>
  void add_to_many(AttentionPass& pass, const T* values, const BlockPlaces& places, Scaling to) const {
    scale_rows(values, places, to, pass.head_dim, [&](const ShiftedRows<T>& some) {
      for (std::size_t pair = some.begin / 2; pair < (some.end + 1) / 2; ++pair) {
        to.ahead.lines(2 * lines_of_place());
        round_pair_of_values(some, pair);
      }
    });
    for (std::size_t query = 0; query < pass.count; query += kLanes) weigh(pass, query, places);
    add_values(pass, places);
  }

  /// A pair of places becomes words; of a place that no query attends, those of another one: its weights are
  /// 0.
  template <typename T>
  void round_pair_of_values(const ShiftedRows<T>& rows, std::size_t pair) const {
    const std::size_t first = larger(2 * pair, rows.begin);
    const std::size_t second = smaller(2 * pair + 1, rows.end - 1);
    join_rows(values_ + pair * kPanel, rows.elements + first * rows.head_dim,
              rows.elements + second * rows.head_dim, rows.shifts[first], rows.shifts[second], rows.head_dim);
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

  BlockFactors factors_of(const BlockPlaces& places) const {
    return {correction_, worth_, places.low / 2, (places.high + 1) / 2};
  }

  void add_values(AttentionPass& pass, const BlockPlaces& places) const {
    const BlockFactors all = factors_of(places);
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
  std::int32_t* queries_;      ///< [panels][row_words][kPanel]; few: [row_words / kLanes][count][kLanes]
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
