// SPDX-License-Identifier: MIT
// Fast because 8 streams and 10 chains keep the memory system and both multipliers busy.
#include "kernels/roofline/roofline.h"

#include <immintrin.h>

namespace lanner::kernels {
namespace {

constexpr std::size_t kStreams = 8;
constexpr std::size_t kChains = 10;

std::uint64_t read_streams(const std::byte* data, std::size_t size_bytes) {
  const std::size_t part = size_bytes / kStreams;
  __m512i sums[kStreams];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::size_t i = 0; i < part; i += 64)
#pragma GCC unroll 8
    for (std::size_t s = 0; s < kStreams; ++s)
      sums[s] = _mm512_xor_si512(sums[s], _mm512_loadu_si512(data + s * part + i));
  for (std::size_t s = 1; s < kStreams; ++s) sums[0] = _mm512_xor_si512(sums[0], sums[s]);
  return static_cast<std::uint64_t>(_mm512_reduce_or_epi64(sums[0]));
}

std::uint64_t float_peak(std::size_t steps) {
  __m512 sums[kChains];
  for (std::size_t c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(static_cast<float>(c));
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(0.5F);
  for (std::size_t i = 0; i < steps; ++i)
#pragma GCC unroll 10
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  for (std::size_t c = 1; c < kChains; ++c) sums[0] = _mm512_add_ps(sums[0], sums[c]);
  return static_cast<std::uint64_t>(_mm512_reduce_or_epi64(_mm512_castps_si512(sums[0])));
}

std::uint64_t int8_peak(std::size_t steps) {
  __m512i sums[kChains];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const __m512i codes = _mm512_set1_epi8(3);
  __m512i x = _mm512_set1_epi8(1);
  for (std::size_t i = 0; i < steps; ++i) {
    asm volatile("" : "+v"(x));
#pragma GCC unroll 10
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, codes, x);
  }
  for (std::size_t c = 1; c < kChains; ++c) sums[0] = _mm512_add_epi32(sums[0], sums[c]);
  return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums[0]));
}

}  // namespace

const RooflineKernels kRooflineAvx512 = {.read_streams = read_streams,
                                         .float_peak = float_peak,
                                         .float_ops = 2 * 16 * kChains,
                                         .int8_peak = int8_peak,
                                         .int8_ops = 2 * 64 * kChains};

}  // namespace lanner::kernels
