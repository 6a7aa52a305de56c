// SPDX-License-Identifier: MIT
#include "kernels/roofline/roofline.h"

#include <cmath>
#include <cstring>

namespace lanner::kernels {
namespace {

constexpr std::size_t kStreams = 8;
constexpr std::size_t kChains = 8;

std::uint64_t read_streams(const std::byte* data, std::size_t size_bytes) {
  const std::size_t part = size_bytes / kStreams;
  std::uint64_t sums[kStreams] = {};
  for (std::size_t i = 0; i < part; i += sizeof(std::uint64_t))
    for (std::size_t s = 0; s < kStreams; ++s) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + s * part + i, sizeof(word));
      sums[s] ^= word;
    }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total ^= sum;
  return total;
}

std::uint64_t float_peak(std::size_t steps) {
  float sums[kChains] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t i = 0; i < steps; ++i)
    for (float& sum : sums) sum = sum * 0.999F + 0.5F;
  float total = 0;
  for (const float sum : sums) total += sum;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &total, sizeof(bits));
  return bits;
}

std::uint64_t int8_peak(std::size_t steps) {
  std::uint32_t sums[kChains] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t i = 0; i < steps; ++i)
    for (std::uint32_t& sum : sums) sum += (sum & 0x7FU) * 3U;
  std::uint64_t total = 0;
  for (const std::uint32_t sum : sums) total += sum;
  return total;
}

}  // namespace

const RooflineKernels kRooflineReference = {.read_streams = read_streams,
                                            .float_peak = float_peak,
                                            .float_ops = 2 * kChains,
                                            .int8_peak = int8_peak,
                                            .int8_ops = 2 * kChains};

}  // namespace lanner::kernels
