// SPDX-License-Identifier: MIT
#include "device/cpu_kernels.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::device {
namespace {

using namespace lanner::kernels;

constexpr CpuKernels kReference = {
    .isa = Isa::kReference,
    .rms_norm = rms_norm_reference,
    .rms_norm_plain = rms_norm_plain_reference,
    .l2_norm = l2_norm_reference,
    .gated_rms_norm = gated_rms_norm_reference,
    .rope = rope_reference,
    .add = add_reference,
    .scale = scale_reference,
    .gelu_mul = gelu_mul_reference,
    .silu_mul = silu_mul_reference,
    .sigmoid_mul = sigmoid_mul_reference,
    .softcap = softcap_reference,
    .attention = attention_reference,
    .causal_conv = causal_conv_reference,
    .delta_net = delta_net_reference,
    .delta_fold = delta_fold_reference,
};

#define LANNER_KERNEL_TABLE(ISA, SUFFIX)         \
  constexpr CpuKernels k##ISA = {                \
      .isa = Isa::k##ISA,                        \
      .rms_norm = rms_norm_##SUFFIX,             \
      .rms_norm_plain = rms_norm_plain_##SUFFIX, \
      .l2_norm = l2_norm_##SUFFIX,               \
      .gated_rms_norm = gated_rms_norm_##SUFFIX, \
      .rope = rope_##SUFFIX,                     \
      .add = add_##SUFFIX,                       \
      .scale = scale_##SUFFIX,                   \
      .gelu_mul = gelu_mul_##SUFFIX,             \
      .silu_mul = silu_mul_##SUFFIX,             \
      .sigmoid_mul = sigmoid_mul_##SUFFIX,       \
      .softcap = softcap_##SUFFIX,               \
      .attention = attention_##SUFFIX,           \
      .causal_conv = causal_conv_##SUFFIX,       \
      .delta_net = delta_net_##SUFFIX,           \
      .delta_fold = delta_fold_##SUFFIX,         \
  }

}  // namespace

const CpuKernels& cpu_kernels(Isa isa) {
  if (!cpu_supports(isa))
    throw Error(ErrorKind::kUnsupported,
                fmt::format("--isa {}: this CPU does not support it; the best it runs is {}", name(isa),
                            name(detect_isa())));
  return kReference;
}

}  // namespace lanner::device
