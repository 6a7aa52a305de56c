// SPDX-License-Identifier: MIT
#include "kernels/norm/rms_norm.h"

#include "kernels/norm/rms_norm.simd.h"

namespace lanner::kernels {

// Fast because: 4 lanes and four independent sums; a row is read from cache the second time.

void rms_norm_neon(std::span<float> out, std::span<const float> x, std::span<const float> w, float eps) {
  rms_norm_rows(out.data(), x.data(), x.size(), w.data(), w.size(), eps);
}

void rms_norm_plain_neon(std::span<float> out, std::span<const float> x, std::size_t dim, float eps) {
  rms_norm_plain_rows(out.data(), x.data(), x.size(), dim, eps);
}

void l2_norm_neon(std::span<float> out, std::span<const float> x, std::size_t dim, float eps, float scale) {
  l2_norm_rows(out.data(), x.data(), x.size(), dim, eps, scale);
}

void gated_rms_norm_neon(std::span<float> out, std::span<const float> x, std::span<const float> z,
                         std::span<const float> w, float eps) {
  gated_rms_norm_rows(out.data(), x.data(), x.size(), z.data(), w.data(), w.size(), eps);
}

}  // namespace lanner::kernels
