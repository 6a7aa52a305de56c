// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// to = from; bytes a multiple of 16. Addresses too.
void copy_bytes_cuda(CudaQueue& queue, void* to, const void* from, std::size_t bytes);

/// Half-precision products with float sums on every multiprocessor's tensor cores, operands at hand, by the
/// widest instruction that the card has: the most that any product can reach. Returns the operations, a
/// multiply and an add being two. sink: one float.
double matrix_rate_cuda(CudaQueue& queue, float* sink);

}  // namespace lanner::kernels
