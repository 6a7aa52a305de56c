// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime_api.h>

namespace lanner::device {

/// Throws Error when a CUDA call failed: kOutOfMemory for memory, kUnsupported for drivers and cards, else
/// kInternal. `action` says what was being done: "starting a kernel".
void check_cuda(cudaError_t status, const char* action);

}  // namespace lanner::device
