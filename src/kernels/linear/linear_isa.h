// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/linear/linear.h"

namespace lanner::kernels {

/// Per-ISA halves of find_linear_kernels(). The
/// spec has been checked.
LinearKernels linear_kernels_reference(const WeightSpec& spec);
LinearKernels linear_kernels_avx2(const WeightSpec& spec);
LinearKernels linear_kernels_avx512(const WeightSpec& spec);

/// Shape of the prompt path: a panel of kPanelColumns outputs by kPanelDepth input columns is widened to
/// float once for kPanelRows rows, whose lane sums wait in scratch until the last panel.
inline constexpr std::size_t kPanelColumns = 48;
inline constexpr std::size_t kPanelDepth = 512;
inline constexpr std::size_t kPanelRows = 128;
inline constexpr std::size_t kMaxLanes = 16;
inline constexpr std::size_t kPanelFloats = kPanelColumns * kPanelDepth;
inline constexpr std::size_t kLinearScratchFloats = kPanelFloats + kPanelRows * kPanelColumns * kMaxLanes;

}  // namespace lanner::kernels
