// SPDX-License-Identifier: MIT
// Fast because 8 streams and 10 chains keep the memory system and both multipliers busy.
#include "kernels/roofline/roofline.h"

#include <immintrin.h>

namespace lanner::kernels {
namespace {

constexpr std::size_t kStreams = 8;
constexpr std::size_t kFloatChains = 10;
constexpr std::size_t kProducts = 8;  ///< of 32 byte pairs, summed in 16 bits before they are widened
constexpr std::size_t kIntChains = 4;

std::uint64_t read_streams(const std::byte* data, std::size_t size_bytes) {
  const std::size_t part = size_bytes / kStreams;
  __m256i sums[kStreams];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i < part; i += 64)
#pragma GCC unroll 8
    for (std::size_t s = 0; s < kStreams; ++s) {
      const auto* at = reinterpret_cast<const __m256i*>(data + s * part + i);
      sums[s] =
          _mm256_xor_si256(sums[s], _mm256_xor_si256(_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)));
    }
  for (std::size_t s = 1; s < kStreams; ++s) sums[0] = _mm256_xor_si256(sums[0], sums[s]);
  return static_cast<std::uint64_t>(_mm256_extract_epi64(sums[0], 0) ^ _mm256_extract_epi64(sums[0], 3));
}

std::uint64_t float_peak(std::size_t steps) {
  __m256 sums[kFloatChains];
  for (std::size_t c = 0; c < kFloatChains; ++c) sums[c] = _mm256_set1_ps(static_cast<float>(c));
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.5F);
  for (std::size_t i = 0; i < steps; ++i)
#pragma GCC unroll 10
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  for (std::size_t c = 1; c < kFloatChains; ++c) sums[0] = _mm256_add_ps(sums[0], sums[c]);
  return static_cast<std::uint64_t>(_mm256_extract_epi64(_mm256_castps_si256(sums[0]), 0));
}

std::uint64_t int8_peak(std::size_t steps) {
  __m256i sums[kIntChains];
  __m256i codes[kIntChains];
  for (std::size_t c = 0; c < kIntChains; ++c) {
    sums[c] = _mm256_setzero_si256();
    codes[c] = _mm256_set1_epi8(static_cast<char>(c + 3));
  }
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i x = _mm256_set1_epi8(1);
  for (std::size_t i = 0; i < steps; ++i) {
    asm volatile("" : "+x"(x));  // the products of every round are formed anew
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kIntChains; ++c) {
      __m256i chain = _mm256_maddubs_epi16(codes[c], x);
#pragma GCC unroll 8
      for (std::size_t p = 1; p < kProducts; ++p) {
        asm volatile("" : "+x"(codes[c]));
        chain = _mm256_add_epi16(chain, _mm256_maddubs_epi16(codes[c], x));
      }
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(chain, ones));
    }
  }
  for (std::size_t c = 1; c < kIntChains; ++c) sums[0] = _mm256_add_epi32(sums[0], sums[c]);
  return static_cast<std::uint64_t>(_mm256_extract_epi64(sums[0], 0));
}

}  // namespace

const RooflineKernels kRooflineAvx2 = {.read_streams = read_streams,
                                       .float_peak = float_peak,
                                       .float_ops = 2 * 8 * kFloatChains,
                                       .int8_peak = int8_peak,
                                       .int8_ops = 2 * 32 * kProducts * kIntChains};

}  // namespace lanner::kernels
