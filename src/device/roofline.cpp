// SPDX-License-Identifier: MIT
#include "device/roofline.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>

#include "core/buffer.h"
#include "kernels/roofline/roofline.h"

namespace lanner::device {
namespace {

constexpr std::size_t kReadBytes = std::size_t{512} << 20;  // far beyond any cache
constexpr std::size_t kReadGrain = 1 << 20;
constexpr std::size_t kSteps = 1'000'000;
constexpr std::size_t kRuns = 5;

const kernels::RooflineKernels& kernels_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && cpu_supports_vnni()) return kernels::kRooflineAvx512;
  if (isa == Isa::kAvx512 || isa == Isa::kAvx2) return kernels::kRooflineAvx2;
#endif
  static_cast<void>(isa);
  return kernels::kRooflineReference;
}

/// work / seconds, median of several runs of `body` on every thread of the pool.
template <typename Body>
double rate(double work, Body&& body) {
  std::array<double, kRuns> rates{};
  for (double& result : rates) {
    const auto start = std::chrono::steady_clock::now();
    body();
    result = work / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::sort(rates);
  return rates[kRuns / 2];
}

}  // namespace

Roofline measure_roofline(Isa isa, ThreadPool& pool) {
  const kernels::RooflineKernels& kernels = kernels_of(isa);
  std::atomic<std::uint64_t> sink{0};
  Buffer memory(kReadBytes);
  pool.split(kReadBytes, kReadGrain, [&](std::size_t begin, std::size_t end, int) {
    std::memset(memory.data() + begin, 1, end - begin);
  });
  const auto threads = static_cast<std::size_t>(pool.threads());
  const auto on_each = [&](auto* loop) {
    pool.split(threads, 1, [&](std::size_t, std::size_t, int) { sink += loop(kSteps); });
  };
  const double rounds = static_cast<double>(kSteps * threads);
  return {.read_bytes_per_second =
              rate(double{kReadBytes},
                   [&] {
                     pool.split(kReadBytes, kReadGrain, [&](std::size_t begin, std::size_t end, int) {
                       sink += kernels.read_streams(memory.data() + begin, end - begin);
                     });
                   }),
          .float_ops_per_second =
              rate(rounds * static_cast<double>(kernels.float_ops), [&] { on_each(kernels.float_peak); }),
          .int8_ops_per_second =
              rate(rounds * static_cast<double>(kernels.int8_ops), [&] { on_each(kernels.int8_peak); })};
}

}  // namespace lanner::device
