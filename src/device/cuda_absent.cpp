// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "device/cuda.h"
#include "device/roofline.h"

namespace lanner::device {

bool built_with_cuda() { return false; }

std::vector<CudaCard> cuda_cards() { return {}; }

std::optional<DeviceMemory> device_memory(const Ops& /*ops*/) { return std::nullopt; }

Ops cuda_ops(int /*index*/) {
  throw Error(
      ErrorKind::kUnsupported,
      "this lanner was built without CUDA; build it with -DLANNER_CUDA=ON where nvcc is installed, or use "
      "--device cpu");
}

Roofline measure_cuda_roofline(CudaDevice& /*device*/) { return {}; }

}  // namespace lanner::device
