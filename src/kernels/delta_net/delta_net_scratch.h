// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/delta_net/delta_net.h"

namespace lanner::kernels {

/// Value columns of the widest panel that a SIMD version advances together.
inline constexpr std::size_t kDeltaPanelColumns = 128;

// Where the SIMD versions keep what in DeltaNetArgs::scratch, in floats. Pairs stand as [row, {k, q}, ...].
/// k_t·k_i and q_t·k_i, shared by the value heads of a key head: [64, 2, 64].
inline constexpr std::size_t kDeltaScores = 0;
/// The same with the decays of one value head: [64, 2, 64].
inline constexpr std::size_t kDeltaWeights = kDeltaScores + kMostDeltaChunk * 2 * kMostDeltaChunk;
/// Sᵀk_t and Sᵀq_t of one panel of columns: [64, 2, panel].
inline constexpr std::size_t kDeltaStateReads = kDeltaWeights + kMostDeltaChunk * 2 * kMostDeltaChunk;
inline constexpr std::size_t kDeltaScratchFloats =
    kDeltaStateReads + kMostDeltaChunk * 2 * kDeltaPanelColumns;

}  // namespace lanner::kernels
