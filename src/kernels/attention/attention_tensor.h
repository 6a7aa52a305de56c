// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/attention/attention.cuda.h"
#include "kernels/attention/attention_heads.cuda.h"

namespace lanner::kernels {

/// True for keys and values in BF16 and heads of 64, 128, 256 or 512: attention_cuda() takes tensor cores
/// then, for any number of rows.
bool can_use_tensor_cores(const AttentionCudaArgs& args);
/// attention_cuda() by tensor cores: queries and weights in three BF16 parts each, which is all of their
/// bits; float sums. With `split` parts go to args.scratch, unjoined.
void attention_tensor_cuda(CudaQueue& queue, const AttentionCudaArgs& args, bool split);
/// attend_heads_cuda() likewise.
void attend_heads_tensor_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& heads,
                              const AttentionCudaArgs& args, bool split);

}  // namespace lanner::kernels
