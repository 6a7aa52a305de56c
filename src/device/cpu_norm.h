// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "core/tensor.h"
#include "device/cpu_kernels.h"

namespace lanner::device::cpu {

/// Inside the delta net's norms of queries and keys; a constant of it, not the model's rms_norm_eps.
inline constexpr float kL2NormEps = 1e-6F;

/// Norms rows of `dim` floats; gain [dim], or none where it has no data.
inline void rms_norm_rows(const CpuKernels& kernels, std::span<float> out, std::span<const float> x,
                          std::size_t dim, const Tensor& gain, float eps) {
  if (gain.data == nullptr)
    kernels.rms_norm_plain(out, x, dim, eps);
  else
    kernels.rms_norm(out, x, gain.floats(), eps);
}

}  // namespace lanner::device::cpu
