// SPDX-License-Identifier: MIT
// For .cu files: a row becomes half-precision parts, by the same sums wherever it is done.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/product_gate.cuh"

namespace lanner::kernels {

/// Threads whose sums, in their order, a row's sum of squares is made of.
inline constexpr unsigned kRowThreads = 512;

/// Exponent that brings the row's largest magnitude into [2^13, 2^14).
__device__ inline int row_shift(float largest) {
  if (!(largest > 0) || isinf(largest)) return 0;
  const int exponent = int(__float_as_uint(largest) >> 23) - 127;  // below -126 for all subnormal numbers
  return max(-110, min(13 - exponent, 110));
}

/// 2^exponent, of an exponent from -126 to 127.
__device__ inline float power_of_two(int exponent) { return __uint_as_float(unsigned(exponent + 127) << 23); }

/// Eight neighbouring inputs.
struct Octet {
  float v[8];

  __device__ static Octet load(const float* from) {
    // Written by an earlier kernel that may have ended a moment ago: not through L1.
    const float4 a = __ldcg(reinterpret_cast<const float4*>(from));
    const float4 b = __ldcg(reinterpret_cast<const float4*>(from) + 1);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  }
  __device__ void store(float* to) const {
    reinterpret_cast<float4*>(to)[0] = {v[0], v[1], v[2], v[3]};
    reinterpret_cast<float4*>(to)[1] = {v[4], v[5], v[6], v[7]};
  }
};

/// An octet as halves, in pairs (0,4) (1,5) (2,6) (3,7), and, of two parts, the sum of its unit of 32 inputs.
struct OctetParts {
  uint4 high;
  uint4 low;
  float unit_sum;
};

__device__ inline OctetParts split_octet(const Octet& octet, float factor, bool two_parts) {
  std::uint32_t high[4];
  std::uint32_t low[4];
  float sum = 0;
#pragma unroll
  for (unsigned pair = 0; pair < 4; ++pair) {
    __half h[2];
    __half l[2];
#pragma unroll
    for (unsigned j = 0; j < 2; ++j) {
      const float value = octet.v[pair + 4 * j] * factor;
      h[j] = __float2half_rn(value);
      l[j] = two_parts ? __float2half_rn(value - __half2float(h[j])) : __ushort_as_half(0);
      if (two_parts) sum += __half2float(h[j]) + __half2float(l[j]);
    }
    high[pair] = __half_as_ushort(h[0]) | std::uint32_t{__half_as_ushort(h[1])} << 16;
    low[pair] = __half_as_ushort(l[0]) | std::uint32_t{__half_as_ushort(l[1])} << 16;
  }
  if (two_parts) {
    const unsigned mask = 0xfU << (threadIdx.x % 32 / 4 * 4);
    sum += __shfl_xor_sync(mask, sum, 1);
    sum += __shfl_xor_sync(mask, sum, 2);
  }
  return {{high[0], high[1], high[2], high[3]}, {low[0], low[1], low[2], low[3]}, sum};
}

/// Bytes of one split row that a block or a warp keeps for itself: [units, 4] high and, of two parts, as many
/// low and [units] sums.
__host__ __device__ inline std::size_t split_row_bytes(unsigned units, unsigned parts) {
  return std::size_t{units} * (parts * 64 + (parts == 2 ? 16 : 0));
}

/// Gains that a thread asks for ahead of time; kCount 0: for rows that have none.
template <unsigned kThreads, unsigned kCount = 2>
struct HeldGains {
  Octet gains[kCount];

  /// Weights alone: may come before wait_for_earlier().
  __device__ explicit HeldGains(const RowInputCuda& in)
      : HeldGains(in.norm ? in.gain : nullptr, in.columns) {}
  __device__ HeldGains(const RowSumCuda& sum, unsigned columns) : HeldGains(sum.gain, columns) {}
  __device__ HeldGains(const float* gain, unsigned columns) {
#pragma unroll
    for (unsigned j = 0; j < kCount; ++j) {
      const unsigned octet = threadIdx.x + j * kThreads;
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) gains[j].v[i] = 1;
      if (gain != nullptr && octet < columns / 8) gains[j] = Octet::load(gain + octet * 8);
    }
  }

  /// Whether the row has gains at all.
  __device__ bool any(const RowInputCuda& in) const { return in.norm && in.gain != nullptr; }
  /// The thread's j-th gains, by load() where they are not held.
  __device__ Octet of(unsigned j, const auto& load) const {
    return j < kCount ? gains[j < kCount ? j : 0] : load();
  }
};

template <unsigned kThreads>
struct HeldGains<kThreads, 0> {
  __device__ explicit HeldGains(const RowInputCuda& /*in*/) {}
  __device__ HeldGains(const RowSumCuda& /*sum*/, unsigned /*columns*/) {}
  __device__ bool any(const RowInputCuda& /*in*/) const { return false; }
  __device__ Octet of(unsigned /*j*/, const auto& load) const { return load(); }
};

/// The largest of a warp's magnitudes, in one instruction: their order is that of their bits.
__device__ inline float warp_max_magnitude(float value) {
  return __uint_as_float(__reduce_max_sync(0xffffffffU, __float_as_uint(value)));
}

/// Sum of one kind of values and largest of another over a block that stands for kRowThreads threads: value s
/// of a thread is that of thread s * kThreads + its own. `shared` holds 32 float2.
template <unsigned kThreads, unsigned kSets>
__device__ inline float2 block_sum_and_max(const float (&sums)[kSets], float largest, float2* shared) {
  largest = warp_max_magnitude(largest);
#pragma unroll
  for (unsigned s = 0; s < kSets; ++s) {
    const float sum = warp_sum(sums[s]);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32 + s * (kThreads / 32)] = {sum, largest};
  }
  __syncthreads();
  const float2 part = threadIdx.x % 32 < kRowThreads / 32 ? shared[threadIdx.x % 32] : float2{0.0F, 0.0F};
  const float2 both = {warp_sum(part.x), warp_max_magnitude(part.y)};
  __syncthreads();
  return both;
}

/// What a row's values are: x, act(x) * up, or a sum (RowSumCuda).
enum class RowKind : std::uint8_t { kPlain, kGated, kSum };

/// What a block shares while it forms a row.
struct RowShared {
  float2 both[32];
  float squares[32];
};

/// x of a row, or act(x) * up.
template <RowKind kKind>
struct RowValues {
  const RowInputCuda& in;
  std::size_t first;  ///< of the row's values

  static constexpr bool kHeldAlone = false;
  /// The thread's j-th octet, j a constant.
  __device__ Octet held(unsigned /*j*/, unsigned octet) const { return any(octet); }
  __device__ Octet any(unsigned octet) const {
    Octet o = Octet::load(in.x + first + octet * 8);
    if constexpr (kKind == RowKind::kGated) {
      const Octet up = Octet::load(in.up + first + octet * 8);
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) o.v[i] = gated(in.gate, o.v[i], up.v[i]);
    }
    return o;
  }
};

/// Octets of a sum that a thread of kRowThreads has.
inline constexpr unsigned kSumOctets = kMostSumColumns / 8 / kRowThreads;

/// Gains of a sum, asked for ahead of time.
template <RowKind kKind>
using SumGains = HeldGains<kRowThreads, kKind == RowKind::kSum ? kSumOctets : 0>;

/// Sum of squares of a row by a block of kRowThreads threads, each of which stands for two of
/// add_norm_cuda()'s: to its bits.
__device__ inline float sum_of_squares(const float* y, unsigned columns, float* shared) {
  float sums[2] = {};
#pragma unroll 1
  for (unsigned first = threadIdx.x; first < columns; first += 8 * kRowThreads) {
    float v[8];
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
      const unsigned at = first + j * kRowThreads;
      v[j] = at < columns ? __ldcg(y + at) : 0.0F;
    }
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) sums[j % 2] = fmaf(v[j], v[j], sums[j % 2]);
  }
#pragma unroll
  for (unsigned s = 0; s < 2; ++s) {
    const float sum = warp_sum(sums[s]);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32 + s * (kRowThreads / 32)] = sum;
  }
  __syncthreads();
  return warp_sum(shared[threadIdx.x % 32]);
}

/// A row that is a sum, in registers.
template <>
struct RowValues<RowKind::kSum> {
  Octet octets[kSumOctets];

  static constexpr bool kHeldAlone = true;
  __device__ Octet held(unsigned j, unsigned /*octet*/) const { return octets[j]; }
  __device__ Octet any(unsigned /*octet*/) const { return {}; }

  /// Between two rows of a block stands a barrier. `writes`: whether this block writes sum.out.
  __device__ RowValues(const RowInputCuda& in, std::size_t first, const SumGains<RowKind::kSum>& gains,
                       float* shared, bool writes) {
    Octet y[kSumOctets] = {};
#pragma unroll
    for (unsigned j = 0; j < kSumOctets; ++j) {
      const unsigned octet = threadIdx.x + j * kRowThreads;
      octets[j] = {};
      if (octet >= in.columns / 8) continue;
      y[j] = Octet::load(in.sum.y + first + octet * 8);
      octets[j] = Octet::load(in.x + first + octet * 8);
    }
    const float squares = sum_of_squares(in.sum.y + first, in.columns, shared);
    const float scale = 1.0F / sqrtf(squares / float(in.columns) + in.sum.eps);
#pragma unroll
    for (unsigned j = 0; j < kSumOctets; ++j) {
#pragma unroll
      for (unsigned i = 0; i < 8; ++i)
        octets[j].v[i] =
            __fadd_rn(octets[j].v[i], __fmul_rn(y[j].v[i] * scale, gains.gains[j].v[i])) * in.sum.factor;
      const unsigned octet = threadIdx.x + j * kRowThreads;
      if (writes && octet < in.columns / 8) octets[j].store(in.sum.out + first + octet * 8);
    }
  }
};

/// The values of row `row`; of a sum, with a block of kRowThreads threads.
template <RowKind kKind>
__device__ inline RowValues<kKind> row_values(const RowInputCuda& in, std::size_t row,
                                              const SumGains<kKind>& sum_gains, RowShared& shared,
                                              bool writes) {
  if constexpr (kKind == RowKind::kSum)
    return {in, row * in.columns, sum_gains, shared.squares, writes};
  else
    return {in, row * in.columns};
}

/// Octets of a row that each of so many threads keeps in registers, unless told otherwise.
constexpr unsigned held_octets(unsigned threads) {
  return threads == kRowThreads ? 5 : 2 * kRowThreads / threads;
}

/// Norms and splits one row with a block of kThreads threads, to the same bits for any number that divides
/// kRowThreads; store(octet, parts) takes every octet of `units` units, those beyond the columns as zeros.
/// Returns the factor that undoes the row's scaling.
template <unsigned kThreads, unsigned kHeld = held_octets(kThreads), unsigned kGains, typename Values,
          typename Store>
__device__ inline float prepare_row(const RowInputCuda& in, const HeldGains<kThreads, kGains>& held_gains,
                                    const Values& values, unsigned units, bool two_parts, float2* shared,
                                    Store&& store) {
  constexpr unsigned kSets = kRowThreads / kThreads;
  static_assert(kHeld % kSets == 0);
  const unsigned filled = in.columns / 8;
  const bool has_gain = held_gains.any(in);
  Octet held[kHeld] = {};
  float squares[kSets] = {};
  float largest = 0;
  // Largest before the norm's scale, which is the same for all.
  const auto take = [&](Octet& o, const Octet& gain, float& sum) {
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
      sum = fmaf(o.v[i], o.v[i], sum);
      o.v[i] *= gain.v[i];
      largest = fmaxf(largest, fabsf(o.v[i]));
    }
  };
  const auto rest = [&](unsigned octet) {
    Octet gain;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) gain.v[i] = 1;
    if (has_gain && octet < filled) gain = Octet::load(in.gain + octet * 8);
    return gain;
  };
#pragma unroll
  for (unsigned j = 0; j < kHeld; ++j) {
    const unsigned octet = threadIdx.x + j * kThreads;
    if (octet < filled) held[j] = values.held(j, octet);
  }
#pragma unroll
  for (unsigned j = 0; j < kHeld; ++j) {
    const unsigned octet = threadIdx.x + j * kThreads;
    if (octet < filled) take(held[j], held_gains.of(j, [&] { return rest(octet); }), squares[j % kSets]);
  }
  for (unsigned first = kHeld * kThreads; !Values::kHeldAlone && first < filled; first += kRowThreads) {
#pragma unroll
    for (unsigned s = 0; s < kSets; ++s) {
      const unsigned octet = first + s * kThreads + threadIdx.x;
      if (octet >= filled) break;
      Octet o = values.any(octet);
      take(o, rest(octet), squares[s]);
    }
  }
  const float2 both = block_sum_and_max<kThreads>(squares, largest, shared);
  const float scale = in.norm ? 1.0F / sqrtf(both.x / float(in.columns) + in.eps) : 1.0F;
  const int shift = row_shift(both.y * scale);
  const float factor = power_of_two(shift);
  const auto finish = [&](Octet o, unsigned octet) {
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) o.v[i] *= scale;
    store(octet, split_octet(o, factor, two_parts));
  };
#pragma unroll
  for (unsigned j = 0; j < kHeld; ++j) {
    const unsigned octet = threadIdx.x + j * kThreads;
    if (octet < units * 4) finish(held[j], octet);
  }
  for (unsigned octet = threadIdx.x + kHeld * kThreads; octet < units * 4; octet += kThreads) {
    Octet o = {};
    if (!Values::kHeldAlone && octet < filled) {
      o = values.any(octet);
      const Octet gain = rest(octet);
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) o.v[i] *= gain.v[i];
    }
    finish(o, octet);
  }
  return power_of_two(-shift);
}

}  // namespace lanner::kernels
