// SPDX-License-Identifier: MIT
#pragma once

#include "core/cpu_features.h"
#include "kernels/activation/elementwise.h"
#include "kernels/attention/attention.h"
#include "kernels/delta_net/causal_conv.h"
#include "kernels/delta_net/delta_net.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/rope/rope.h"

namespace lanner::device {

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
  kernels::AttentionFn* attention = nullptr;
  kernels::AttentionFn* attention_segment = nullptr;
  kernels::AttentionFn* attention_merge = nullptr;
  kernels::CausalConvFn* causal_conv = nullptr;
  kernels::DeltaNetFn* delta_net = nullptr;
  kernels::DeltaFoldFn* delta_fold = nullptr;
};

/// The table for an instruction set; throws Error kUnsupported when this CPU cannot run it.
const CpuKernels& cpu_kernels(Isa isa);

}  // namespace lanner::device
