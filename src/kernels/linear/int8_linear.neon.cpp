// SPDX-License-Identifier: MIT
// Fast because the dot product instruction multiplies 16 code-activation pairs straight into four output
// lanes, and one unpacked vector of codes serves up to four rows. Needs the dot product extension of Armv8.2.
#include "kernels/linear/int8_linear.neon.h"

#include <arm_neon.h>

#include <cstring>

#include "kernels/linear/int8_formats.h"

namespace lanner::kernels {
namespace {

constexpr std::size_t kVectorBytes = 64;
constexpr std::size_t kQuarterBytes = 16;  ///< four of a tile's sixteen outputs
constexpr int kQuarters = 4;
constexpr int kQuads = 8;

/// Bits [kFrom, kFrom + kWidth) of every byte, moved to bit kTo.
template <int kFrom, int kWidth, int kTo = 0>
inline uint8x16_t plane(uint8x16_t v) {
  if constexpr (kFrom > kTo) v = vshrq_n_u8(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = vshlq_n_u8(v, kTo - kFrom);
  return vandq_u8(v, vdupq_n_u8(static_cast<std::uint8_t>(((1 << kWidth) - 1) << kTo)));
}

inline uint8x16_t load(const std::byte* unit, int vector) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(unit) +
                  static_cast<std::size_t>(vector) * kVectorBytes);
}

/// Codes of quad kQuad for four outputs; `unit` points to their quarter. At 8 bits kPart selects the low or
/// the high nibble: the instruction takes both operands as signed.
template <int kBits, int kQuad, int kPart>
inline int8x16_t quad(const std::byte* unit) {
  uint8x16_t codes;
  if constexpr (kBits == 8) codes = plane<4 * kPart, 4>(load(unit, kQuad));
  if constexpr (kBits == 4) codes = plane<4 * (kQuad % 2), 4>(load(unit, kQuad / 2));
  if constexpr (kBits == 2) codes = plane<2 * (kQuad % 4), 2>(load(unit, kQuad / 4));
  if constexpr (kBits == 3)
    codes = vorrq_u8(plane<2 * (kQuad % 4), 2>(load(unit, kQuad / 4)), plane<kQuad, 1, 2>(load(unit, 2)));
  if constexpr (kBits == 5)
    codes = vorrq_u8(plane<4 * (kQuad % 2), 4>(load(unit, kQuad / 2)), plane<kQuad, 1, 4>(load(unit, 4)));
  if constexpr (kBits == 6)
    codes = vorrq_u8(plane<4 * (kQuad % 2), 4>(load(unit, kQuad / 2)),
                     plane<2 * (kQuad % 4), 2, 4>(load(unit, 4 + kQuad / 4)));
  return vreinterpretq_s8_u8(codes);
}

/// Four scales or biases as float.
template <DType kDtype>
inline float32x4_t floats(const std::byte* table) {
  if constexpr (kDtype == DType::kF32) return vld1q_f32(reinterpret_cast<const float*>(table));
  const uint16x4_t half = vld1_u16(reinterpret_cast<const std::uint16_t*>(table));
  if constexpr (kDtype == DType::kF16) return vcvt_f32_f16(vreinterpret_f16_u16(half));
  return vreinterpretq_f32_u32(vshll_n_u16(half, 16));
}

inline int8x16_t broadcast4(const std::int8_t* codes) {
  std::int32_t word = 0;
  std::memcpy(&word, codes, sizeof(word));
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}

template <int kBits, DType kDtype>
class Tiles {
 public:
  static void linear(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                     std::size_t rows, std::size_t tile_begin, std::size_t tile_end) {
    const Call call{w, x, out, out_stride};
    for (std::size_t tile = tile_begin; tile < tile_end; ++tile) {
      std::size_t row = 0;
      for (; row + 4 <= rows; row += 4) block<4>(call, row, tile);
      for (; row + 2 <= rows; row += 2) block<2>(call, row, tile);
      if (row < rows) block<1>(call, row, tile);
    }
  }

 private:
  struct Call {
    const PackedView& w;
    const QuantizedRows& x;
    float* out;
    std::size_t out_stride;
  };

  template <int kRows>
  static void block(const Call& call, std::size_t row, std::size_t tile) {
    const std::size_t group = static_cast<std::size_t>(call.w.spec.group);
    const std::byte* at = call.w.data + tile * call.w.tile_bytes();
    const std::int8_t* codes = call.x.codes + row * call.x.columns;
    float32x4_t acc[kRows][kQuarters];
    for (auto& one : acc)
      for (float32x4_t& sum : one) sum = vdupq_n_f32(0);
    for (std::size_t g = 0; g < call.x.groups; ++g) {
      int32x4_t sums[kRows][kQuarters];
      for (auto& one : sums)
        for (int32x4_t& sum : one) sum = vdupq_n_s32(0);
      const std::byte* unit = at + 2 * kTableBytes;
      for (std::size_t k = 0; k < group; k += kPackedUnitColumns) {
        add_unit<kRows>(sums, unit, codes + k, call.x.columns);
        unit += kBits * kVectorBytes;
      }
      for (int r = 0; r < kRows; ++r) {
        const std::size_t i = (row + static_cast<std::size_t>(r)) * call.x.groups + g;
        for (int q = 0; q < kQuarters; ++q) {
          const std::byte* table = at + static_cast<std::size_t>(q) * (kTableBytes / kQuarters);
          const float32x4_t product = vmulq_f32(vdupq_n_f32(call.x.scales[i]), vcvtq_f32_s32(sums[r][q]));
          acc[r][q] = vfmaq_f32(acc[r][q], product, floats<kDtype>(table));
          acc[r][q] = vfmaq_f32(acc[r][q], vdupq_n_f32(call.x.sums[i]), floats<kDtype>(table + kTableBytes));
        }
      }
      at += call.w.group_bytes();
      codes += group;
    }
    for (int r = 0; r < kRows; ++r)
      for (int q = 0; q < kQuarters; ++q)
        store(call, row + static_cast<std::size_t>(r),
              tile * kPackedTileRows + static_cast<std::size_t>(4 * q), acc[r][q]);
  }

  static void store(const Call& call, std::size_t row, std::size_t n, float32x4_t values) {
    float* out = call.out + row * call.out_stride + n;
    if (n + 4 <= call.w.rows) return vst1q_f32(out, values);
    float lanes[4];
    vst1q_f32(lanes, values);
    for (std::size_t i = 0; n + i < call.w.rows; ++i) out[i] = lanes[i];
  }

  template <int kRows, int kQuad = 0>
  [[gnu::always_inline]] static inline void add_unit(int32x4_t (&sums)[kRows][kQuarters],
                                                     const std::byte* unit, const std::int8_t* codes,
                                                     std::size_t columns) {
    if constexpr (kQuad < kQuads) {
      int8x16_t x[kRows];
      for (int r = 0; r < kRows; ++r)
        x[r] = broadcast4(codes + static_cast<std::size_t>(r) * columns + 4 * kQuad);
      for (int q = 0; q < kQuarters; ++q) {
        const std::byte* quarter = unit + static_cast<std::size_t>(q) * kQuarterBytes;
        const int8x16_t weights = quad<kBits, kQuad, 0>(quarter);
        for (int r = 0; r < kRows; ++r) sums[r][q] = vdotq_s32(sums[r][q], weights, x[r]);
        if constexpr (kBits == 8) {
          const int8x16_t high = quad<kBits, kQuad, 1>(quarter);
          for (int r = 0; r < kRows; ++r)  // counts sixteen times
            sums[r][q] = vaddq_s32(sums[r][q], vshlq_n_s32(vdotq_s32(vdupq_n_s32(0), high, x[r]), 4));
        }
      }
      add_unit<kRows, kQuad + 1>(sums, unit, codes, columns);
    }
  }

  static constexpr std::size_t kTableBytes = kPackedTileRows * (kDtype == DType::kF32 ? 4 : 2);
};

}  // namespace

void quantize_rows_neon(std::int8_t* codes, float* scales, float* sums, const float* x, std::size_t rows,
                        std::size_t columns, std::size_t group) {
  const std::size_t groups = rows * (columns / group);
  for (std::size_t g = 0; g < groups; ++g) {
    const float* values = x + g * group;
    float32x4_t largest = vdupq_n_f32(0);
    for (std::size_t i = 0; i < group; i += 4) largest = vmaxq_f32(largest, vabsq_f32(vld1q_f32(values + i)));
    const float top = vmaxvq_f32(largest);
    const float32x4_t inverse = vdupq_n_f32(top > 0 ? 127.0F / top : 0.0F);
    int32x4_t sum = vdupq_n_s32(0);
    for (std::size_t i = 0; i < group; i += 8) {
      const int32x4_t low = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(values + i), inverse));
      const int32x4_t high = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(values + i + 4), inverse));
      sum = vaddq_s32(sum, vaddq_s32(low, high));
      vst1_s8(codes + g * group + i, vqmovn_s16(vcombine_s16(vqmovn_s32(low), vqmovn_s32(high))));
    }
    scales[g] = top / 127.0F;
    sums[g] = scales[g] * static_cast<float>(vaddvq_s32(sum));
  }
}

Int8Kernels int8_kernels_neon(const WeightSpec& spec) {
  return {.linear = int8_linear_of<Tiles>(spec), .quantize_rows = quantize_rows_neon};
}

}  // namespace lanner::kernels
