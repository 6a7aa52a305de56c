// SPDX-License-Identifier: MIT
#include "quantize/fp_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/float_convert.h"

namespace lanner::quantize {
namespace {

constexpr float kLargestE4m3 = 448;
constexpr float kLargestE2m1 = 6;
constexpr float kSmallestNormalE4m3 = 0x1p-6F;
constexpr float kSubnormalStepE4m3 = 0x1p-9F;

std::uint8_t float_to_e8m0(float value) {
  // log2(0) = -inf clamps to code 0.
  const double exponent = std::clamp(std::round(std::log2(static_cast<double>(value))), -127.0, 127.0);
  return static_cast<std::uint8_t>(static_cast<int>(exponent) + 127);
}

}  // namespace

std::uint8_t float_to_e4m3(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  const float magnitude = std::abs(value);
  if (!(magnitude < kLargestE4m3)) return sign | 0x7e;
  if (magnitude < kSmallestNormalE4m3)
    return sign | static_cast<std::uint8_t>(std::nearbyint(magnitude / kSubnormalStepE4m3));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t rounded = bits + 0x7ffffU + ((bits >> 20) & 1U);  // 3 of 23 mantissa bits stay
  const std::uint32_t code = (rounded >> 20) - ((127U - 7U) << 3);
  return sign | static_cast<std::uint8_t>(std::min(code, 0x7eU));
}

std::uint8_t float_to_e2m1(float value) {
  const float a = std::abs(value);
  const int code = int(a > 0.25F) + int(a >= 0.75F) + int(a > 1.25F) + int(a >= 1.75F) + int(a > 2.5F) +
                   int(a >= 3.5F) + int(a > 5.0F);
  return static_cast<std::uint8_t>(std::signbit(value) ? code | 8 : code);
}

std::uint8_t quantize_fp_group(std::span<std::uint8_t> codes, std::span<const float> w, QuantMode mode) {
  float largest = 0;
  for (const float value : w) largest = std::max(largest, std::abs(value));
  const float unit = largest / (mode == QuantMode::kMxfp8 ? kLargestE4m3 : kLargestE2m1);
  const std::uint8_t scale_code = mode == QuantMode::kNvfp4 ? float_to_e4m3(unit) : float_to_e8m0(unit);
  const float scale =
      mode == QuantMode::kNvfp4 ? f8_e4m3_to_float(scale_code) : std::ldexp(1.0F, int{scale_code} - 127);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float scaled = scale == 0 ? 0 : w[i] / scale;
    codes[i] = mode == QuantMode::kMxfp8 ? float_to_e4m3(scaled) : float_to_e2m1(scaled);
  }
  return scale_code;
}

}  // namespace lanner::quantize
