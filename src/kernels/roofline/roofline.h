// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanner::kernels {

/// What one core can do at most, for setting other figures in proportion. Each runs on the calling thread
/// and returns a value that depends on all its work, so that none can be left out.

/// Reads size_bytes (a multiple of 4096) in 8 interleaved streams: one stream per core cannot saturate
/// memory.
using ReadStreamsFn = std::uint64_t(const std::byte* data, std::size_t size_bytes);
/// `steps` rounds of independent multiply-adds on registers; each round counts *_ops operations, a multiply
/// and an add being two.
using FloatPeakFn = std::uint64_t(std::size_t steps);
using Int8PeakFn = std::uint64_t(std::size_t steps);

/// The loops for one instruction set. The int8 round is the one products use: chains of 16-bit sums of
/// unsigned by signed bytes (AVX2), 32-bit dot products (VNNI), scalar multiply-adds (reference).
struct RooflineKernels {
  ReadStreamsFn* read_streams = nullptr;
  FloatPeakFn* float_peak = nullptr;
  std::size_t float_ops = 0;
  Int8PeakFn* int8_peak = nullptr;
  std::size_t int8_ops = 0;
};

extern const RooflineKernels kRooflineReference, kRooflineAvx2, kRooflineAvx512;

}  // namespace lanner::kernels
