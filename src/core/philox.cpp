// SPDX-License-Identifier: MIT
#include "core/philox.h"

namespace lanner {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
constexpr int kRounds = 10;

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {
        static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
        static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

// Loops over counters side by side, without branches: the compiler makes vectors of them.
PhiloxRun philox4x32_run(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  PhiloxRun c;
  for (std::size_t i = 0; i < kPhiloxRun; ++i) {
    c[0][i] = counter[0] + static_cast<std::uint32_t>(i);
    c[1][i] = counter[1];
    c[2][i] = counter[2];
    c[3][i] = counter[3];
  }
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kPhiloxRun; ++i) {
      const std::uint64_t product0 = std::uint64_t{kMultiplier0} * c[0][i];
      const std::uint64_t product1 = std::uint64_t{kMultiplier1} * c[2][i];
      c[0][i] = static_cast<std::uint32_t>(product1 >> 32) ^ c[1][i] ^ key0;
      c[1][i] = static_cast<std::uint32_t>(product1);
      c[2][i] = static_cast<std::uint32_t>(product0 >> 32) ^ c[3][i] ^ key1;
      c[3][i] = static_cast<std::uint32_t>(product0);
    }
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

}  // namespace lanner
