// SPDX-License-Identifier: MIT
// Fast because the dot product instruction multiplies 16 code-activation pairs straight into four output
// lanes, and one unpacked vector of codes serves up to four rows. Needs the dot product extension of Armv8.2.
#include "kernels/linear/int8_linear.neon.h"

#include <arm_neon.h>

#include <cstring>

#include "kernels/linear/int8_formats.h"

namespace lanner::kernels {
namespace {

constexpr std::size_t kQuarterBytes = 16;  ///< four of a tile's sixteen outputs
constexpr int kQuarters = 4;

/// Bits [kFrom, kFrom + kWidth) of every byte, moved to bit kTo.
template <int kFrom, int kWidth, int kTo = 0>
inline uint8x16_t plane(uint8x16_t v) {
  if constexpr (kFrom > kTo) v = vshrq_n_u8(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = vshlq_n_u8(v, kTo - kFrom);
  return vandq_u8(v, vdupq_n_u8(static_cast<std::uint8_t>(((1 << kWidth) - 1) << kTo)));
}

/// One piece of the codes of quad kQuad for four outputs; `unit` points to their quarter. At 8 bits kPart
/// selects the low or the high nibble: the instruction takes both operands as signed.
template <int kBits, int kQuad, int kPart, int kPiece>
inline uint8x16_t piece(const std::byte* unit) {
  constexpr PackedPiece kAt = packed_quad(kBits, kQuad).pieces[kPiece];
  const uint8x16_t vector = vld1q_u8(reinterpret_cast<const std::uint8_t*>(unit) +
                                     kAt.vector * static_cast<int>(kPackedVectorBytes));
  if constexpr (kBits == 8) return plane<4 * kPart, 4>(vector);
  return plane<kAt.at, kAt.width, kAt.from>(vector);
}

/// Codes of quad kQuad.
template <int kBits, int kQuad, int kPart>
inline int8x16_t quad(const std::byte* unit) {
  constexpr PackedQuad kAt = packed_quad(kBits, kQuad);
  uint8x16_t codes = piece<kBits, kQuad, kPart, 0>(unit);
  if constexpr (kAt.pieces[1].width != 0) codes = vorrq_u8(codes, piece<kBits, kQuad, kPart, 1>(unit));
  if constexpr (kAt.pieces[2].width != 0) codes = vorrq_u8(codes, piece<kBits, kQuad, kPart, 2>(unit));
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

/// Twice the E2M1 elements of 4-bit codes.
inline int8x16_t fp4_values(int8x16_t codes) {
  constexpr std::int8_t kValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  return vqtbl1q_s8(vld1q_s8(kValues), vreinterpretq_u8_s8(codes));
}

/// Four scales of mxfp4, or of nvfp4 times 2^-8.
template <bool kIsMxfp4>
inline float32x4_t fp4_scales(const std::byte* table) {
  std::uint32_t word = 0;
  std::memcpy(&word, table, sizeof(word));
  const uint8x8_t codes = vcreate_u8(word);
  if constexpr (kIsMxfp4)  // 2^-127, code 0, has a bit of the mantissa in place of an exponent
    return vreinterpretq_f32_u32(
        vmaxq_u32(vshlq_n_u32(vmovl_u16(vget_low_u16(vmovl_u8(codes))), 23), vdupq_n_u32(0x00400000)));
  const uint16x4_t halves = vreinterpret_u16_s16(vget_low_s16(vshll_n_s8(vreinterpret_s8_u8(codes), 7)));
  return vcvt_f32_f16(vreinterpret_f16_u16(vand_u16(halves, vdup_n_u16(0xbfff))));  // had the sign twice
}

inline int8x16_t broadcast4(const std::int8_t* codes) {
  std::int32_t word = 0;
  std::memcpy(&word, codes, sizeof(word));
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}

template <typename Codes>
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
    const PackedView& w = call.w;
    const std::size_t group = static_cast<std::size_t>(w.spec.group);
    const std::byte* tables = w.data + tile * w.tile_bytes();
    const std::byte* units = tables + w.codes_offset();
    const std::int8_t* codes = call.x.codes + row * call.x.columns;
    float32x4_t acc[kRows][kQuarters];
    for (auto& one : acc)
      for (float32x4_t& sum : one) sum = vdupq_n_f32(0);
    for (std::size_t g = 0; g < call.x.groups; ++g) {
      int32x4_t sums[kRows][kQuarters];
      for (auto& one : sums)
        for (int32x4_t& sum : one) sum = vdupq_n_s32(0);
      const std::byte* unit = units;
      for (std::size_t k = 0; k < group; k += Codes::kUnitColumns) {
        add_unit<kRows>(sums, unit, codes + k, call.x.columns);
        unit += kUnitBytes;
      }
      add_group<kRows>(acc, sums, tables, call.x, row * call.x.groups + g);
      tables += Codes::kIsFp4 ? Codes::kTableBytes : w.group_bytes();
      units += Codes::kIsFp4 ? w.group_code_bytes() : w.group_bytes();
      codes += group;
    }
    for (int r = 0; r < kRows; ++r)
      for (int q = 0; q < kQuarters; ++q)
        store(call, row + static_cast<std::size_t>(r),
              tile * kPackedTileRows + static_cast<std::size_t>(4 * q), acc[r][q]);
  }

  /// The float part of one group; `first` is its place in the tables of the first row.
  template <int kRows>
  [[gnu::always_inline]] static inline void add_group(float32x4_t (&acc)[kRows][kQuarters],
                                                      const int32x4_t (&sums)[kRows][kQuarters],
                                                      const std::byte* tables, const QuantizedRows& x,
                                                      std::size_t first) {
    for (int r = 0; r < kRows; ++r) {
      const std::size_t i = first + static_cast<std::size_t>(r) * x.groups;
      for (int q = 0; q < kQuarters; ++q) {
        const std::byte* table = tables + static_cast<std::size_t>(q) * (Codes::kTableBytes / kQuarters);
        const float32x4_t product = vmulq_f32(vdupq_n_f32(x.scales[i]), vcvtq_f32_s32(sums[r][q]));
        if constexpr (Codes::kIsFp4) {
          acc[r][q] = vfmaq_f32(acc[r][q], product, fp4_scales<Codes::kIsMxfp4>(table));
        } else {
          acc[r][q] = vfmaq_f32(acc[r][q], product, floats<Codes::kDtype>(table));
          acc[r][q] =
              vfmaq_f32(acc[r][q], vdupq_n_f32(x.sums[i]), floats<Codes::kDtype>(table + Codes::kTableBytes));
        }
      }
    }
  }

  static void store(const Call& call, std::size_t row, std::size_t n, float32x4_t values) {
    if constexpr (Codes::kIsFp4) values = vmulq_n_f32(values, Codes::kFactor);
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
    if constexpr (kQuad < static_cast<int>(Codes::kUnitColumns / 4)) {
      int8x16_t x[kRows];
      for (int r = 0; r < kRows; ++r)
        x[r] = broadcast4(codes + static_cast<std::size_t>(r) * columns + 4 * kQuad);
      for (int q = 0; q < kQuarters; ++q) {
        const std::byte* quarter = unit + static_cast<std::size_t>(q) * kQuarterBytes;
        int8x16_t weights = quad<Codes::kBits, kQuad, 0>(quarter);
        if constexpr (Codes::kIsFp4) weights = fp4_values(weights);
        for (int r = 0; r < kRows; ++r) sums[r][q] = vdotq_s32(sums[r][q], weights, x[r]);
        if constexpr (Codes::kBits == 8) {
          const int8x16_t high = quad<Codes::kBits, kQuad, 1>(quarter);
          for (int r = 0; r < kRows; ++r)  // counts sixteen times
            sums[r][q] = vaddq_s32(sums[r][q], vshlq_n_s32(vdotq_s32(vdupq_n_s32(0), high, x[r]), 4));
        }
      }
      add_unit<kRows, kQuad + 1>(sums, unit, codes, columns);
    }
  }

  static constexpr std::size_t kUnitBytes = kPackedTileRows * Codes::kUnitColumns * Codes::kBits / 8;
};

}  // namespace

void quantize_rows_neon(const QuantizedTarget& to, const float* x, std::size_t rows, std::size_t columns,
                        std::size_t group) {
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
      vst1_s8(to.codes + g * group + i, vqmovn_s16(vcombine_s16(vqmovn_s32(low), vqmovn_s32(high))));
    }
    const std::int32_t total = vaddvq_s32(sum);
    to.scales[g] = top / 127.0F;
    to.sums[g] = to.scales[g] * static_cast<float>(total);
    to.offsets[g] = -kFp4Zero * total;
  }
}

Int8Kernels int8_kernels_neon(const WeightSpec& spec) {
  return {.linear = int8_linear_of<Tiles>(spec), .quantize_rows = quantize_rows_neon};
}

}  // namespace lanner::kernels
