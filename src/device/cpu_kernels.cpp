// SPDX-License-Identifier: MIT
#include "device/cpu_kernels.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::device {
namespace {

using namespace lanner::kernels;

// One row per operation; a missing kernel does not link.
#define LANNER_KERNEL_TABLE(ISA, SUFFIX)                                     \
  constexpr CpuKernels k##ISA = {                                            \
      .isa = Isa::k##ISA,                                                    \
      .rms_norm = rms_norm_##SUFFIX,                                         \
      .rms_norm_plain = rms_norm_plain_##SUFFIX,                             \
      .l2_norm = l2_norm_##SUFFIX,                                           \
      .gated_rms_norm = gated_rms_norm_##SUFFIX,                             \
      .rope = rope_##SUFFIX,                                                 \
      .add = add_##SUFFIX,                                                   \
      .scale = scale_##SUFFIX,                                               \
      .gelu_mul = gelu_mul_##SUFFIX,                                         \
      .silu_mul = silu_mul_##SUFFIX,                                         \
      .sigmoid_mul = sigmoid_mul_##SUFFIX,                                   \
      .softcap = softcap_##SUFFIX,                                           \
      .attention = {.whole = attention_##SUFFIX,                             \
                    .segment = attention_segment_##SUFFIX,                   \
                    .merge = attention_merge_##SUFFIX,                       \
                    .pass_queries = kAttentionPassQueries,                   \
                    .scratch_floats = attention_scratch_floats},             \
      .attention_int16 = {.whole = attention_int16_##SUFFIX,                 \
                          .segment = attention_int16_segment_##SUFFIX,       \
                          .merge = attention_merge_##SUFFIX,                 \
                          .pass_queries = kInt16PassQueries,                 \
                          .scratch_floats = attention_int16_scratch_floats}, \
      .causal_conv = causal_conv_##SUFFIX,                                   \
      .delta_net = delta_net_##SUFFIX,                                       \
      .delta_fold = delta_fold_##SUFFIX,                                     \
      .block_largest = block_largest_##SUFFIX,                               \
      .mass_sum = mass_sum_##SUFFIX,                                         \
  }

LANNER_KERNEL_TABLE(Reference, reference);
#if defined(__x86_64__)
LANNER_KERNEL_TABLE(Avx2, avx2);
LANNER_KERNEL_TABLE(Avx512, avx512);
constexpr CpuKernels kAvx512Vnni = [] {
  CpuKernels kernels = kAvx512;
  kernels.attention_int16.whole = attention_int16_vnni;
  kernels.attention_int16.segment = attention_int16_segment_vnni;
  return kernels;
}();
#elif defined(__aarch64__)
LANNER_KERNEL_TABLE(Neon, neon);
#endif
#undef LANNER_KERNEL_TABLE

}  // namespace

const CpuKernels& cpu_kernels(Isa isa) {
  if (!cpu_supports(isa))
    throw Error(ErrorKind::kUnsupported,
                fmt::format("--isa {}: this CPU does not support it; the best it runs is {}", name(isa),
                            name(detect_isa())));
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return kAvx2;
    case Isa::kAvx512:
      return cpu_supports_vnni() ? kAvx512Vnni : kAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kNeon;
#endif
    default:
      return kReference;
  }
}

}  // namespace lanner::device
