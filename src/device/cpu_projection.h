// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "device/ops.h"

namespace lanner::device::cpu {

/// Outputs come in units of this many; threads split units.
inline constexpr std::size_t kUnitOutputs = kernels::kPackedTileRows;
static_assert(kUnitOutputs == kernels::kLinearColumnGrain);

inline std::size_t units_of(const Matrix& w) { return (w.rows() + kUnitOutputs - 1) / kUnitOutputs; }

/// The input rows of one or more products, normed where they are to be: in float and, rounded once, in what
/// the matrices want: int8 for each group size of packed ones, bfloat16.
class ProjectionInput {
 public:
  /// Group sizes of packed formats.
  static constexpr std::array<std::size_t, 4> kGroups = {16, 32, 64, 128};

  /// Finds what the matrices need; nothing is computed yet.
  ProjectionInput(const CpuKernels& kernels, const ProductInput& in, std::span<const Matrix* const> matrices);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  /// Memory that place() needs; 0: the products take the rows as they are.
  std::size_t size_bytes() const;
  /// Uses this memory for the forms that the products take.
  void place(std::byte* memory);
  /// Forms rows [begin, end), each on its own. row: `columns` floats.
  void form(std::size_t begin, std::size_t end, float* row);
  /// out[r, n - 16*unit_begin] = x wᵀ for all rows and the outputs n of units [unit_begin, unit_end); out
  /// rows are out_stride apart. scratch: linear_scratch_floats(columns).
  void multiply(const Matrix& w, std::size_t unit_begin, std::size_t unit_end, float* out,
                std::size_t out_stride, float* scratch) const;

 private:
  struct Quantized {
    kernels::QuantizeRowsFn* quantize = nullptr;  ///< none: no matrix has this group size
    kernels::QuantizedTarget to;
  };

  /// Elements of one table: scales, sums or offsets.
  std::size_t table_size(std::size_t group) const { return rows_ * (columns_ / group); }
  std::size_t table_bytes(std::size_t group) const { return 3 * table_size(group) * sizeof(float); }
  /// Bytes of the rows in elements of a size, up to the alignment.
  std::size_t row_bytes(std::size_t element_bytes) const;
  static std::size_t index_of(std::size_t group) {
    return static_cast<std::size_t>(std::ranges::find(kGroups, group) - kGroups.begin());
  }

  const CpuKernels& kernels_;
  const ProductInput& in_;
  std::size_t rows_;
  std::size_t columns_;
  bool keeps_normed_ = false;  ///< products in float take normed rows
  float* normed_ = nullptr;
  std::array<Quantized, kGroups.size()> quantized_{};
  kernels::RoundBf16Fn* round_bf16_ = nullptr;  ///< none: no matrix wants bfloat16
  std::uint16_t* bf16_ = nullptr;
};

/// Scratch of products of one input.
struct ProjectionScratch {
  std::size_t shared_bytes = 0;   ///< the rounded input, when one copy serves all threads
  std::size_t thread_floats = 0;  ///< of each thread
};

// Up to here every thread rounds all rows for itself: cheaper than a barrier.
inline constexpr std::size_t kOwnRows = 4;

/// own_floats: what a thread needs besides the input.
ProjectionScratch projection_scratch(const ProjectionInput& input, std::size_t own_floats);

// Outputs that one thread forms at a time where it goes on with them, few enough to stay in its cache.
inline constexpr std::size_t kBlockUnits = 8;

/// The own_floats of gated_linear().
inline std::size_t gated_scratch_floats(std::size_t rows, std::size_t columns) {
  return rows * kBlockUnits * kUnitOutputs + kernels::linear_scratch_floats(columns);
}

}  // namespace lanner::device::cpu
