// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "quantize/quant_format.h"

namespace lanner::quantize {

/// Nearest FP8 E4M3 code, ties to even, saturating at 448 (0x7E; NaN too). Keeps the sign of zero.
std::uint8_t float_to_e4m3(float value);

/// Nearest FP4 E2M1 code (0, 0.5, 1, 1.5, 2, 3, 4, 6 and negatives from code 8), ties to the even code.
std::uint8_t float_to_e2m1(float value);

/// Encodes one group of finite weights in an fp mode and returns the scale code: E8M0 of the largest
/// magnitude over 6 (mxfp4) or 448 (mxfp8), its logarithm rounded half away from zero; E4M3 of it over 6
/// (nvfp4). All in float32, as MLX's GPU backends do. codes has the size of w.
std::uint8_t quantize_fp_group(std::span<std::uint8_t> codes, std::span<const float> w, QuantMode mode);

}  // namespace lanner::quantize
