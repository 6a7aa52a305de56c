// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace lanner::kernels {

// All of these are element-wise over spans of equal length; out may be any input. An element's result must
// not depend on where it stands in the span: SIMD versions run their tail through the same vector code
// (masked loads), never through libm. batch-invariant: yes. exp and tanh within 2 ulp of the correctly
// rounded float.

/// out = a + b
using AddFn = void(std::span<float> out, std::span<const float> a, std::span<const float> b);
AddFn add_reference, add_avx2, add_avx512, add_neon;

/// out = x * factor
using ScaleFn = void(std::span<float> out, std::span<const float> x, float factor);
ScaleFn scale_reference, scale_avx2, scale_avx512, scale_neon;

/// out = gelu_tanh(gate) * up, gelu_tanh(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))). Gemma's GeGLU.
using GeluMulFn = void(std::span<float> out, std::span<const float> gate, std::span<const float> up);
GeluMulFn gelu_mul_reference, gelu_mul_avx2, gelu_mul_avx512, gelu_mul_neon;

/// out = silu(gate) * up, silu(x) = x / (1 + e^-x). Qwen's SwiGLU.
using SiluMulFn = void(std::span<float> out, std::span<const float> gate, std::span<const float> up);
SiluMulFn silu_mul_reference, silu_mul_avx2, silu_mul_avx512, silu_mul_neon;

/// out = x / (1 + e^-gate). Qwen's attention output gate.
using SigmoidMulFn = void(std::span<float> out, std::span<const float> x, std::span<const float> gate);
SigmoidMulFn sigmoid_mul_reference, sigmoid_mul_avx2, sigmoid_mul_avx512, sigmoid_mul_neon;

/// out = cap * tanh(x / cap). Gemma's final logit softcap.
using SoftcapFn = void(std::span<float> out, std::span<const float> x, float cap);
SoftcapFn softcap_reference, softcap_avx2, softcap_avx512, softcap_neon;

}  // namespace lanner::kernels
