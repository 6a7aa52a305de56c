// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/simd/vec.h"

namespace lanner::kernels {
namespace {

/// e^x within 1 ulp; 0 below -104 (also -inf), +inf above 88.73, NaN for NaN, exactly 1 for 0. Argument
/// reduction by ln 2 in two parts (Cody & Waite), polynomial of Cephes expf.
inline Vec vec_exp(Vec x) {
  x = max(splat(-104.0F), min(splat(89.0F), x));
  const Vec n = round_to_integer(x * splat(1.44269504F));
  Vec r = fnma(n, splat(0.693359375F), x);
  r = fnma(n, splat(-2.12194440e-4F), r);
  Vec p = splat(1.9875691500e-4F);
  p = fma(p, r, splat(1.3981999507e-3F));
  p = fma(p, r, splat(8.3334519073e-3F));
  p = fma(p, r, splat(4.1665795894e-2F));
  p = fma(p, r, splat(1.6666665459e-1F));
  p = fma(p, r, splat(5.0000001201e-1F));
  p = fma(p, r * r, r) + splat(1.0F);
  return scale_by_power_of_two(p, n);
}

/// 1 / (1 + e^-x). Uses e^-|x| on both sides, so that small results keep their relative precision.
inline Vec vec_sigmoid(Vec x) {
  const Vec e = vec_exp(splat(0.0F) - abs(x));
  const Vec numerator = select_less(x, splat(0.0F), e, splat(1.0F));
  return numerator / (splat(1.0F) + e);
}

/// x / (1 + e^-x); -0 for -inf.
inline Vec vec_silu(Vec x) { return max(splat(-3.4028235e38F), x) * vec_sigmoid(x); }

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))), as x sigmoid(2 sqrt(2/pi) (...)): no cancellation, one exp.
inline Vec vec_gelu_tanh(Vec x) {
  x = max(splat(-3.4028235e38F), x);
  const Vec inner = x * fma(x * x, splat(0.044715F), splat(1.0F));
  return x * vec_sigmoid(inner * splat(1.59576912F));
}

/// tanh within 2 ulp: an odd polynomial (Cephes tanhf) below 0.625, 1 - 2/(e^2|x| + 1) above.
inline Vec vec_tanh(Vec x) {
  const Vec magnitude = abs(x);
  const Vec z = x * x;
  Vec p = splat(-5.70498872745e-3F);
  p = fma(p, z, splat(2.06390887954e-2F));
  p = fma(p, z, splat(-5.37397155531e-2F));
  p = fma(p, z, splat(1.33314422036e-1F));
  p = fma(p, z, splat(-3.33332819422e-1F));
  const Vec small = fma(p * z, magnitude, magnitude);
  const Vec large = splat(1.0F) - splat(2.0F) / (vec_exp(magnitude + magnitude) + splat(1.0F));
  return copy_sign(select_less(magnitude, splat(0.625F), small, large), x);
}

}  // namespace
}  // namespace lanner::kernels
