// SPDX-License-Identifier: MIT
#include "core/float_convert.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace lanner;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Sign, `exponent_bits`, `mantissa_bits`: the value by definition.
double decode(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = int(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double fraction = double(bits & ((1U << mantissa_bits) - 1)) / double(1U << mantissa_bits);
  const bool negative = ((bits >> (exponent_bits + mantissa_bits)) & 1U) != 0;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return negative ? -magnitude : magnitude;
}

// For every pair of neighbours a < b of a 16-bit format: floats up to the middle go to a or b by nearest
// even.
template <typename Encode, typename Decode>
void check_rounding(Encode encode, Decode decode_bits, std::uint16_t largest) {
  for (std::uint16_t bits = 0; bits < largest; ++bits) {
    const std::uint16_t next = static_cast<std::uint16_t>(bits + 1);
    const float low = decode_bits(bits);
    const float high = decode_bits(next);
    const float middle = float((double(low) + double(high)) / 2);
    const std::uint16_t even = (bits & 1U) == 0 ? bits : next;
    if (double(middle) == (double(low) + double(high)) / 2) {
      REQUIRE(encode(middle) == even);
      REQUIRE(encode(-middle) == (even | 0x8000U));
    }
    REQUIRE(encode(std::nextafter(middle, 0.0F)) == bits);
    REQUIRE(encode(std::nextafter(middle, kInfinity)) == next);
  }
}

}  // namespace

TEST_CASE("bf16: all 65536 values widen exactly and return to themselves") {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = bf16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      REQUIRE((bits & 0x7fffU) > 0x7f80U);
      REQUIRE(std::isnan(bf16_to_float(float_to_bf16(value))));
      continue;
    }
    if (std::isfinite(value)) REQUIRE(double(value) == decode(bits, 8, 7));
    REQUIRE(float_to_bf16(value) == bits);
  }
}

TEST_CASE("bf16: rounds to nearest even between every two neighbours, NaN stays NaN") {
  check_rounding(float_to_bf16, bf16_to_float, 0x7f7f);
  CHECK(float_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(float_to_bf16(kInfinity) == 0x7f80);
  // A NaN whose payload lies in the dropped half only.
  CHECK(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001U)))));
  CHECK(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0xffffffffU)))));
  CHECK(round_to_bf16(39.1918F) == 39.25F);
}

TEST_CASE("f16: all 65536 values widen exactly and return to themselves") {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = f16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      REQUIRE((bits & 0x7fffU) > 0x7c00U);
      REQUIRE(std::isnan(f16_to_float(float_to_f16(value))));
      continue;
    }
    if (std::isfinite(value)) REQUIRE(double(value) == decode(bits, 5, 10));
    REQUIRE(float_to_f16(value) == bits);
  }
}

TEST_CASE("f16: rounds to nearest even between every two neighbours, large values become infinite") {
  check_rounding(float_to_f16, f16_to_float, 0x7bff);
  CHECK(float_to_f16(65519.0F) == 0x7bff);
  CHECK(float_to_f16(65520.0F) == 0x7c00);
  CHECK(float_to_f16(-1e30F) == 0xfc00);
  CHECK(float_to_f16(kInfinity) == 0x7c00);
  CHECK(float_to_f16(0x1p-25F) == 0);  // half of the smallest, to even
}

TEST_CASE("f8 e4m3: all 256 values follow the definition, without infinities") {
  for (std::uint32_t bits = 0; bits <= 0xff; ++bits)
    CHECK(double(f8_e4m3_to_float(static_cast<std::uint8_t>(bits))) == decode(bits, 4, 3));
  CHECK(f8_e4m3_to_float(0x38) == 1.0F);
  CHECK(f8_e4m3_to_float(0x7e) == 448.0F);
  CHECK(f8_e4m3_to_float(0x01) == 0x1p-9F);
}
