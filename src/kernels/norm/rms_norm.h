// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace lanner::kernels {

/// out[t,i] = x[t,i] / sqrt(mean_j x[t,j]² + eps) * w[i].   Source: Zhang & Sennrich 2019.
/// x, out [T, D] row-major, may be the same memory; w [D], D > 0. (Qwen 3.5 stores w-1: its loader adds
/// the 1.) Any alignment. Accumulates in float, 8 or 16 lanes in a fixed order (reference: double).
/// batch-invariant: yes.
using RmsNormFn = void(std::span<float> out, std::span<const float> x, std::span<const float> w, float eps);
RmsNormFn rms_norm_reference, rms_norm_avx2, rms_norm_avx512, rms_norm_neon;

/// The same without a gain: out[t,i] = x[t,i] / sqrt(mean_j x[t,j]² + eps), rows of length dim.
using RmsNormPlainFn = void(std::span<float> out, std::span<const float> x, std::size_t dim, float eps);
RmsNormPlainFn rms_norm_plain_reference, rms_norm_plain_avx2, rms_norm_plain_avx512, rms_norm_plain_neon;

/// out[t,i] = x[t,i] / sqrt(sum_j x[t,j]² + eps) * scale, rows of length dim. The query and key normalisation
/// of the gated delta net (eps 1e-6 inside the sum, not the mean). Source: Qwen3_5GatedDeltaNet l2norm,
/// transformers 5.17.
using L2NormFn = void(std::span<float> out, std::span<const float> x, std::size_t dim, float eps,
                      float scale);
L2NormFn l2_norm_reference, l2_norm_avx2, l2_norm_avx512, l2_norm_neon;

/// out[t,i] = rms_norm(x[t])[i] * w[i] * silu(z[t,i]): the output norm of the gated delta net, norm before
/// gate. x, z, out [T, D]; w [D]. out may be x. Source: Qwen3_5RMSNormGated, transformers 5.17.
/// batch-invariant: yes.
using GatedRmsNormFn = void(std::span<float> out, std::span<const float> x, std::span<const float> z,
                            std::span<const float> w, float eps);
GatedRmsNormFn gated_rms_norm_reference, gated_rms_norm_avx2, gated_rms_norm_avx512, gated_rms_norm_neon;

}  // namespace lanner::kernels
