// SPDX-License-Identifier: MIT
#pragma once

#include "core/cpu_features.h"
#include "kernels/activation/elementwise.h"
#include "kernels/attention/attention_int16.h"
#include "kernels/delta_net/causal_conv.h"
#include "kernels/delta_net/delta_net.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/rope/rope.h"
#include "kernels/sampling/block_largest.h"
#include "kernels/sampling/mass_sum.h"

namespace lanner::device {

/// One arithmetic of attention.
struct AttentionKernels {
  kernels::AttentionFn* whole = nullptr;
  kernels::AttentionFn* segment = nullptr;
  kernels::AttentionFn* merge = nullptr;
  std::size_t pass_queries = 0;  ///< (row, query head) pairs that share a pass
  std::size_t (*scratch_floats)(kernels::KvType type, std::size_t head_dim) = nullptr;
};

/// The kernel of each operation for one instruction set. Linear kernels depend on the weight format too and
/// are bound when a Matrix is built.
struct CpuKernels {
  Isa isa = Isa::kReference;
  kernels::RmsNormFn* rms_norm = nullptr;
  kernels::RmsNormPlainFn* rms_norm_plain = nullptr;
  kernels::L2NormFn* l2_norm = nullptr;
  kernels::GatedRmsNormFn* gated_rms_norm = nullptr;
  kernels::RopeFn* rope = nullptr;
  kernels::AddFn* add = nullptr;
  kernels::ScaleFn* scale = nullptr;
  kernels::GeluMulFn* gelu_mul = nullptr;
  kernels::SiluMulFn* silu_mul = nullptr;
  kernels::SigmoidMulFn* sigmoid_mul = nullptr;
  kernels::SoftcapFn* softcap = nullptr;
  AttentionKernels attention;
  AttentionKernels attention_int16;
  kernels::CausalConvFn* causal_conv = nullptr;
  kernels::DeltaNetFn* delta_net = nullptr;
  kernels::DeltaFoldFn* delta_fold = nullptr;
  kernels::BlockLargestFn* block_largest = nullptr;
  kernels::MassSumFn* mass_sum = nullptr;
};

/// The table for an instruction set; throws Error kUnsupported when this CPU cannot run it.
const CpuKernels& cpu_kernels(Isa isa);

}  // namespace lanner::device
