// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>

#include "core/buffer.h"
#include "device/cuda_device.h"
#include "device/roofline.h"
#include "kernels/roofline/roofline.cuda.h"

namespace lanner::device {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{2} << 30;  // far beyond any cache
constexpr int kLaunches = 8;                              // of a run, so that its start does not count
constexpr std::size_t kCudaRuns = 5;

/// Work of one launch / seconds, median of several runs.
template <typename Launch>
double rate(CudaDevice& device, Launch&& launch) {
  std::array<double, kCudaRuns + 1> rates{};
  for (double& result : rates) {
    device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    double work = 0;
    for (int i = 0; i < kLaunches; ++i) work += launch();
    device.synchronize();
    result = work / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(rates.begin() + 1, rates.end());  // the first warms up
  return rates[1 + kCudaRuns / 2];
}

}  // namespace

Roofline measure_cuda_roofline(CudaDevice& device) {
  const Buffer from(kCopyBytes, device.memory());
  const Buffer to(kCopyBytes, device.memory());
  device.memory().zero(const_cast<std::byte*>(from.data()), kCopyBytes);
  const Buffer sink(sizeof(float), device.memory());
  return {.read_bytes_per_second = rate(device,
                                        [&] {
                                          kernels::copy_bytes_cuda(device, const_cast<std::byte*>(to.data()),
                                                                   from.data(), kCopyBytes);
                                          return 2.0 * kCopyBytes;
                                        }),
          .half_ops_per_second = rate(device, [&] {
            return kernels::matrix_rate_cuda(device,
                                             reinterpret_cast<float*>(const_cast<std::byte*>(sink.data())));
          })};
}

}  // namespace lanner::device
