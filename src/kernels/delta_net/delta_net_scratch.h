// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/delta_net/delta_net.h"

namespace lanner::kernels {

/// Columns of the value dimension that the SIMD versions advance together: four of the widest vectors.
inline constexpr std::size_t kDeltaPanel = 64;

// Where the SIMD versions keep what in DeltaNetArgs::scratch, in floats.
/// k_t·k_i of all pairs of the chunk, shared by the value heads of a key head: [64, 64].
inline constexpr std::size_t kDeltaKeyScores = 0;
/// q_t·k_i likewise.
inline constexpr std::size_t kDeltaQueryScores = kDeltaKeyScores + kDeltaChunk * kDeltaChunk;
/// The same two with the decays of one value head.
inline constexpr std::size_t kDeltaKeyWeights = kDeltaQueryScores + kDeltaChunk * kDeltaChunk;
inline constexpr std::size_t kDeltaQueryWeights = kDeltaKeyWeights + kDeltaChunk * kDeltaChunk;
/// Sᵀk_t and Sᵀq_t of one panel of columns: [64 rows, 2, panel].
inline constexpr std::size_t kDeltaStateReads = kDeltaQueryWeights + kDeltaChunk * kDeltaChunk;
inline constexpr std::size_t kDeltaScratchFloats = kDeltaStateReads + kDeltaChunk * 2 * kDeltaPanel;

}  // namespace lanner::kernels
