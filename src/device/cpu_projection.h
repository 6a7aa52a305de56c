// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "device/ops.h"

namespace lanner::device::cpu {

/// Outputs come in units of this many; threads split units.
inline constexpr std::size_t kUnitOutputs = kernels::kPackedTileRows;
static_assert(kUnitOutputs == kernels::kLinearColumnGrain);

inline std::size_t units_of(const Matrix& w) { return (w.rows() + kUnitOutputs - 1) / kUnitOutputs; }

/// The input rows of one or more products, normed where they are to be: in float and, for the packed ones,
/// rounded to int8 once per group size.
class ProjectionInput {
 public:
  /// Group sizes of packed formats: 32, 64 and 128.
  static constexpr std::array<std::size_t, 3> kGroups = {32, 64, 128};

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
    std::int8_t* codes = nullptr;
    float* scales = nullptr;
    float* sums = nullptr;
  };

  std::size_t table_floats(std::size_t group) const { return rows_ * (columns_ / group); }
  std::size_t code_bytes() const;
  static std::size_t index_of(std::size_t group) { return group == 32 ? 0 : group == 64 ? 1 : 2; }

  const CpuKernels& kernels_;
  const ProductInput& in_;
  std::size_t rows_;
  std::size_t columns_;
  bool keeps_normed_ = false;  ///< products in float take normed rows
  float* normed_ = nullptr;
  std::array<Quantized, kGroups.size()> quantized_{};
};

/// Scratch of products of one input.
struct ProjectionScratch {
  std::size_t shared_bytes = 0;   ///< the input in int8, when one copy serves all threads
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
