// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/linear/linear.cuda.h"

namespace lanner::kernels {

// Both compute what tiled_product_cuda() says, to the same bits.

/// 16 outputs and up to 64 rows at a time: bound by memory.
void narrow_product(CudaQueue& queue, const TiledProductCudaArgs& args);
/// 128 outputs by 128 rows: bound by arithmetic. One product a launch, no gate.
void wide_product(CudaQueue& queue, const TiledProductCudaArgs& args);

}  // namespace lanner::kernels
