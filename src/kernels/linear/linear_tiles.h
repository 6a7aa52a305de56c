// SPDX-License-Identifier: MIT
// For ISA files only: instantiated with types of internal linkage, so every function here is local to its
// file.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/linear/linear_isa.h"
#include "kernels/linear/panel_product.h"

// One order of summation for every path: lane k mod kLanes of (row, output) takes its products by FMA with k
// ascending, then Simd::sum. Columns past the last whole vector are padded with zeros on both sides. Tiles
// only choose how many such sums run side by side.

namespace lanner::kernels {

template <typename Simd, typename Format>
class LinearTiles {
 public:
  static void linear(const WeightView& w, const LinearArgs& args) {
    std::size_t row = 0;
    if (args.rows > kFusedRows) {
      for (; row < args.rows; row += kPanelRows)
        prompt_rows(w, args, row, smaller(kPanelRows, args.rows - row));
      return;
    }
    switch (args.rows) {
      case 1:
        return fused_rows<1, Simd::kFusedColumns[0]>(w, args);
      case 2:
        return fused_rows<2, Simd::kFusedColumns[1]>(w, args);
      case 3:
        return fused_rows<3, Simd::kFusedColumns[2]>(w, args);
      case 4:
        return fused_rows<4, Simd::kFusedColumns[3]>(w, args);
    }
  }

  static void dequantize_row(float* out, const WeightView& w, std::size_t n) {
    const std::size_t whole = w.columns - w.columns % kLanes;
    const typename Format::Row row = Format::row(w, n);
    expand(out, kLanes, w, row, 0, whole);
    if constexpr (!Format::kQuantized) {
      if (whole == w.columns) return;
      const std::size_t count = w.columns - whole;
      Simd::store_part(out + whole, Format::part(Format::block(row, whole), count), count);
    }
  }

 private:
  using Floats = typename Simd::Floats;
  static constexpr std::size_t kLanes = Simd::kLanes;
  static constexpr std::size_t kFusedRows = 4;
  static constexpr std::size_t kTileRows = Simd::kTileRows;
  static constexpr std::size_t kTileColumns = Simd::kTileColumns;
  static constexpr std::size_t kStepFloats = kTileColumns * kLanes;
  static constexpr int kSteps = static_cast<int>(Format::kBlock / kLanes);
  static_assert(kPanelColumns % kTileColumns == 0 && kPanelRows % kTileRows == 0 && kLanes <= kMaxLanes);

  static std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

  /// Columns that share one Group.
  static std::size_t span(const WeightView& w) {
    return Format::kQuantized ? static_cast<std::size_t>(w.spec.group) : Format::kBlock;
  }

  // ---- Few rows: unpacking fused with the products; each thread reads kColumns weight rows side by side.

  template <int kRows, int kColumns>
  static void fused_rows(const WeightView& w, const LinearArgs& args) {
    std::size_t n = args.column_begin;
    for (; n + kColumns <= args.column_end; n += kColumns) fused_tile<kRows, kColumns>(w, args, n);
    for (; n < args.column_end; ++n) fused_tile<kRows, 1>(w, args, n);
  }

  template <int kRows, int kColumns>
  static void fused_tile(const WeightView& w, const LinearArgs& args, std::size_t first) {
    typename Format::Row rows[kColumns];
    for (int n = 0; n < kColumns; ++n) rows[n] = Format::row(w, first + static_cast<std::size_t>(n));
    Floats sums[kRows][kColumns];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int n = 0; n < kColumns; ++n) sums[r][n] = Simd::zero();

    // From a dense row to its place in the next tile, if there is one.
    const std::size_t to_next = first + 2 * kColumns <= args.column_end ? kColumns * w.columns : 0;
    const std::size_t group_columns = span(w);
    const std::size_t groups = w.columns / group_columns;
    std::size_t k = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      typename Format::Group group[kColumns];
#pragma GCC unroll 8
      for (int n = 0; n < kColumns; ++n) group[n] = Format::group(rows[n], g);
      if constexpr (!Format::kQuantized) fetch<kColumns>(rows, k + to_next);
      for (const std::size_t end = k + group_columns; k < end; k += Format::kBlock)
        fused_block<kRows, kColumns>(sums, rows, group, k, args, std::make_integer_sequence<int, kSteps>());
    }
    if constexpr (!Format::kQuantized) fused_tail<kRows, kColumns>(sums, rows, k, w.columns, args);
    for (int r = 0; r < kRows; ++r)
      for (int n = 0; n < kColumns; ++n)
        args.out[static_cast<std::size_t>(r) * args.out_stride + first + static_cast<std::size_t>(n)] =
            Simd::sum(sums[r][n]);
  }

  /// Asks for the blocks at column k of dense rows. Rows side by side are more streams than the hardware
  /// follows: on Zen 5, one bfloat16 row on AVX2, 32 GB/s on one core in place of 16, 37 in place of 30 on
  /// two.
  template <int kColumns>
  [[gnu::always_inline]] static inline void fetch(const typename Format::Row* rows, std::size_t k) {
    for (int n = 0; n < kColumns; ++n) {
      const std::uint8_t* const end = Format::block(rows[n], k + Format::kBlock);
      for (const std::uint8_t* line = Format::block(rows[n], k); line < end; line += 64)
        __builtin_prefetch(line);
    }
  }

  template <int kRows, int kColumns, int... kStep>
  [[gnu::always_inline]] static inline void fused_block(Floats (&sums)[kRows][kColumns],
                                                        const typename Format::Row* rows,
                                                        const typename Format::Group* group, std::size_t k,
                                                        const LinearArgs& args,
                                                        std::integer_sequence<int, kStep...> /*steps*/) {
    (fused_step<kRows, kColumns, kStep>(sums, rows, group, k, args), ...);
  }

  template <int kRows, int kColumns, int kStep>
  [[gnu::always_inline]] static inline void fused_step(Floats (&sums)[kRows][kColumns],
                                                       const typename Format::Row* rows,
                                                       const typename Format::Group* group, std::size_t k,
                                                       const LinearArgs& args) {
    const float* x = args.x + k + static_cast<std::size_t>(kStep) * kLanes;
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n) {
      const Floats weights = Format::template step<kStep>(Format::block(rows[n], k), group[n]);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
        sums[r][n] =
            Simd::fma(Simd::load(x + static_cast<std::size_t>(r) * args.x_stride), weights, sums[r][n]);
    }
  }

  template <int kRows, int kColumns>
  static void fused_tail(Floats (&sums)[kRows][kColumns], const typename Format::Row* rows, std::size_t k,
                         std::size_t columns, const LinearArgs& args) {
    for (; k < columns; k += kLanes) {
      const std::size_t count = smaller(kLanes, columns - k);
      for (int n = 0; n < kColumns; ++n) {
        const Floats weights = Format::part(Format::block(rows[n], k), count);
        for (int r = 0; r < kRows; ++r) {
          const float* x = args.x + static_cast<std::size_t>(r) * args.x_stride + k;
          sums[r][n] = Simd::fma(Simd::load_part(x, count), weights, sums[r][n]);
        }
      }
    }
  }

  // ---- Many rows: weights are widened once into a panel for up to kPanelRows rows. Lane sums live in
  // scratch between panels of one output range.

  static void prompt_rows(const WeightView& w, const LinearArgs& args, std::size_t row, std::size_t rows) {
    float* const panel = args.scratch;
    float* const sums = panel + kPanelFloats;
    for (std::size_t n = args.column_begin; n < args.column_end; n += kPanelColumns) {
      const std::size_t columns = smaller(kPanelColumns, args.column_end - n);
      __builtin_memset(sums, 0, rows_padded(rows) * kPanelColumns * kLanes * sizeof(float));
      for (std::size_t k = 0; k < w.columns; k += kPanelDepth) {
        const std::size_t depth = smaller(kPanelDepth, w.columns - k);
        fill_panel(panel, w, n, columns, k, depth);
        for (std::size_t r = 0; r < rows; r += kTileRows) {
          const float* x = args.x + (row + r) * args.x_stride + k;
          float* tile_sums = sums + r * kPanelColumns * kLanes;
          for (std::size_t t = 0; t < columns; t += kTileColumns) {
            add_tile(smaller(kTileRows, rows - r), smaller(kTileColumns, columns - t), tile_sums, x,
                     args.x_stride, panel + t * steps_of(depth) * kLanes, depth);
            tile_sums += kTileRows * kStepFloats;
          }
        }
      }
      write_sums(args, sums, row, rows, n, columns);
    }
  }

  static std::size_t rows_padded(std::size_t rows) { return (rows + kTileRows - 1) / kTileRows * kTileRows; }
  static std::size_t steps_of(std::size_t depth) { return (depth + kLanes - 1) / kLanes; }

  /// Panel layout: [tile of kTileColumns outputs][step of kLanes columns][output of the tile][lane].
  static void fill_panel(float* panel, const WeightView& w, std::size_t n, std::size_t columns, std::size_t k,
                         std::size_t depth) {
    const std::size_t whole = depth - depth % kLanes;
    for (std::size_t i = 0; i < columns; ++i) {
      float* to = panel + (i / kTileColumns * steps_of(depth) * kTileColumns + i % kTileColumns) * kLanes;
      const typename Format::Row row = Format::row(w, n + i);
      expand(to, kStepFloats, w, row, k, k + whole);
      if constexpr (!Format::kQuantized)
        if (whole != depth)
          Simd::store(to + whole * kTileColumns, Format::part(Format::block(row, k + whole), depth - whole));
    }
  }

  /// Widens columns [k, end), end - k a multiple of kLanes and k of span(w); one vector every `stride`
  /// floats.
  static void expand(float* to, std::size_t stride, const WeightView& w, const typename Format::Row& row,
                     std::size_t k, std::size_t end) {
    const std::size_t group_columns = span(w);
    for (; k + group_columns <= end;) {
      const typename Format::Group group = Format::group(row, k / group_columns);
      for (const std::size_t group_end = k + group_columns; k < group_end; k += Format::kBlock) {
        expand_block(to, stride, Format::block(row, k), group, std::make_integer_sequence<int, kSteps>());
        to += kSteps * stride;
      }
    }
    if constexpr (!Format::kQuantized)
      for (; k < end; k += kLanes, to += stride)
        Simd::store(to, Format::template step<0>(Format::block(row, k), {}));
  }

  template <int... kStep>
  [[gnu::always_inline]] static inline void expand_block(float* to, std::size_t stride,
                                                         const std::uint8_t* block,
                                                         const typename Format::Group& group,
                                                         std::integer_sequence<int, kStep...> /*steps*/) {
    (Simd::store(to + kStep * stride, Format::template step<kStep>(block, group)), ...);
  }

  static void add_tile(std::size_t rows, std::size_t columns, float* sums, const float* x,
                       std::size_t x_stride, const float* panel, std::size_t depth) {
    if (rows == kTileRows && columns == kTileColumns)
      return Panel<Simd>::template add<kTileRows, kTileColumns>(sums, x, x_stride, panel, depth);
    Panel<Simd>::add_edge(rows, columns, sums, x, x_stride, panel, depth);
  }

  static void write_sums(const LinearArgs& args, const float* sums, std::size_t row, std::size_t rows,
                         std::size_t n, std::size_t columns) {
    for (std::size_t r = 0; r < rows; ++r) {
      float* out = args.out + (row + r) * args.out_stride + n;
      const float* from =
          sums + (r / kTileRows * kPanelColumns * kTileRows + r % kTileRows * kTileColumns) * kLanes;
      for (std::size_t i = 0; i < columns; ++i)
        out[i] = Simd::sum(
            Simd::load(from + (i / kTileColumns * kTileRows * kTileColumns + i % kTileColumns) * kLanes));
    }
  }
};

}  // namespace lanner::kernels
