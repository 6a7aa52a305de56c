// SPDX-License-Identifier: MIT
#include "device/cuda_error.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::device {
namespace {

ErrorKind kind_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return ErrorKind::kOutOfMemory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDevice:
      return ErrorKind::kUnsupported;
    default:
      return ErrorKind::kInternal;
  }
}

}  // namespace

void check_cuda(cudaError_t status, const char* action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // what is reported here must not be reported again
  throw Error(kind_of(status), fmt::format("the GPU failed while {}: {} ({})", action,
                                           cudaGetErrorString(status), cudaGetErrorName(status)));
}

}  // namespace lanner::device
