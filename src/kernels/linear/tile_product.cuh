// SPDX-License-Identifier: MIT
// For .cu files: the arithmetic of a 16-output tile, shared by all kernels so that their bits agree.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/product_gate.cuh"

namespace lanner::kernels {

/// Slices of the inputs; the partial sums of an output are added in their order.
inline constexpr unsigned kSlices = 8;

/// Chunks of a slice; no group of 128 is cut.
__host__ __device__ inline unsigned slice_chunks(const TiledWeight& w) {
  const unsigned chunks = (w.chunks + kSlices - 1) / kSlices;
  return w.group == 128 ? (chunks + 1) / 2 * 2 : chunks;
}

__host__ __device__ inline unsigned used_slices(const TiledWeight& w) {
  const unsigned per_slice = slice_chunks(w);
  return (w.chunks + per_slice - 1) / per_slice;
}

/// 16-byte words of codes that one lane holds of a chunk.
template <TileCode kCode>
inline constexpr unsigned kCodeVectors = kCode == TileCode::kInt4   ? 1
                                         : kCode == TileCode::kInt8 ? 2
                                                                    : 4;

/// Weight fragments of one unit of 32 inputs: two steps of 16, four registers each.
struct UnitFragments {
  std::uint32_t a[2][4];
};

__device__ inline std::uint32_t minus_1024(std::uint32_t pair) {
  const __half2 offset = __halves2half2(__ushort_as_half(0x6400), __ushort_as_half(0x6400));
  const __half2 value = __hsub2(*reinterpret_cast<const __half2*>(&pair), offset);
  return *reinterpret_cast<const std::uint32_t*>(&value);
}

/// (word & mask) | bits in one instruction; the compiler makes two of it.
template <std::uint32_t kMask>
__device__ inline std::uint32_t masked_or(std::uint32_t word, std::uint32_t bits) {
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "n"(kMask), "r"(bits));
  return result;
}

/// Codes of a word at nibbles (j, j + 4) as halves. The upper nibble of a byte stands for 16 times its code
/// in the mantissa of 1024, which one FMA undoes exactly.
__device__ inline std::uint32_t nibble_pair(std::uint32_t word, unsigned j) {
  const std::uint32_t bytes = j < 2 ? word : word >> 8;
  if (j % 2 == 0) return minus_1024(masked_or<0x000f000fU>(bytes, 0x64006400U));
  const std::uint32_t pair = masked_or<0x00f000f0U>(bytes, 0x64006400U);
  const __half2 sixteenth = __halves2half2(__ushort_as_half(0x2c00), __ushort_as_half(0x2c00));
  const __half2 minus_64 = __halves2half2(__ushort_as_half(0xd400), __ushort_as_half(0xd400));
  const __half2 value = __hfma2(*reinterpret_cast<const __half2*>(&pair), sixteenth, minus_64);
  return *reinterpret_cast<const std::uint32_t*>(&value);
}

__device__ inline std::uint32_t low_bytes(std::uint32_t word) {
  return minus_1024(__byte_perm(word, 0x64646464U, 0x4140));
}

__device__ inline std::uint32_t high_bytes(std::uint32_t word) {
  return minus_1024(__byte_perm(word, 0x64646464U, 0x4342));
}

template <TileCode kCode>
__device__ inline UnitFragments unit_fragments(const uint4 (&codes)[kCodeVectors<kCode>], unsigned unit) {
  UnitFragments f;
  if constexpr (kCode == TileCode::kInt4) {
    const std::uint32_t upper = unit == 0 ? codes[0].x : codes[0].y;
    const std::uint32_t lower = unit == 0 ? codes[0].z : codes[0].w;
#pragma unroll
    for (unsigned step = 0; step < 2; ++step) {
      f.a[step][0] = nibble_pair(upper, 2 * step);
      f.a[step][1] = nibble_pair(lower, 2 * step);
      f.a[step][2] = nibble_pair(upper, 2 * step + 1);
      f.a[step][3] = nibble_pair(lower, 2 * step + 1);
    }
  } else if constexpr (kCode == TileCode::kInt8) {
    const uint4 v = codes[unit];
    f = {{{low_bytes(v.x), low_bytes(v.z), high_bytes(v.x), high_bytes(v.z)},
          {low_bytes(v.y), low_bytes(v.w), high_bytes(v.y), high_bytes(v.w)}}};
  } else {
    const uint4 upper = codes[unit * 2];
    const uint4 lower = codes[unit * 2 + 1];
    f = {{{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}}};
  }
  return f;
}

/// c += a b, 16 outputs by 16 inputs by 8 rows, float sums.
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// One unit of 32 inputs: high then low part of each step.
__device__ inline void multiply_unit(float (&c)[4], const UnitFragments& f, const uint4& high,
                                     const uint4& low) {
  multiply_add(c, f.a[0], high.x, high.y);
  multiply_add(c, f.a[0], low.x, low.y);
  multiply_add(c, f.a[1], high.z, high.w);
  multiply_add(c, f.a[1], low.z, low.w);
}

__device__ inline std::uint32_t fma2(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const __half2 value = __hfma2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b),
                                *reinterpret_cast<const __half2*>(&c));
  return *reinterpret_cast<const std::uint32_t*>(&value);
}

/// Elements of one unit rounded to half precision: scale * code + bias. Codes of 4 bits are multiplied as
/// they stand, as subnormal halves of code * 2^-24 or, the upper nibble of a byte, code * 2^-20.
template <TileCode kCode>
__device__ inline UnitFragments unit_elements(const uint4 (&codes)[kCodeVectors<kCode>], unsigned unit,
                                              const uint2& entry) {
  if constexpr (kCode == TileCode::kHalf) return unit_fragments<kCode>(codes, unit);
  const std::uint32_t scales[2] = {__byte_perm(entry.x, 0, 0x1010), __byte_perm(entry.y, 0, 0x1010)};
  const std::uint32_t biases[2] = {__byte_perm(entry.x, 0, 0x3232), __byte_perm(entry.y, 0, 0x3232)};
  UnitFragments f;
  if constexpr (kCode == TileCode::kInt4) {
    const std::uint32_t words[2] = {unit == 0 ? codes[0].x : codes[0].y, unit == 0 ? codes[0].z : codes[0].w};
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const std::uint32_t sixteenths = fma2(scales[half], 0x2c002c00U, 0);
#pragma unroll
      for (unsigned step = 0; step < 2; ++step) {
        const std::uint32_t bytes = words[half] >> (8 * step);
        f.a[step][half] = fma2(bytes & 0x000f000fU, scales[half], biases[half]);
        f.a[step][half + 2] = fma2(bytes & 0x00f000f0U, sixteenths, biases[half]);
      }
    }
  } else {
    f = unit_fragments<kCode>(codes, unit);
#pragma unroll
    for (unsigned step = 0; step < 2; ++step)
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) f.a[step][i] = fma2(f.a[step][i], scales[i % 2], biases[i % 2]);
  }
  return f;
}

/// One unit of 32 inputs in half precision.
__device__ inline void multiply_unit_half(float (&c)[4], const UnitFragments& f, const uint4& inputs) {
  multiply_add(c, f.a[0], inputs.x, inputs.y);
  multiply_add(c, f.a[1], inputs.z, inputs.w);
}

struct ScaleBias {
  float scale;
  float bias;
};

__device__ inline ScaleBias scale_bias(std::uint32_t entry, bool f16) {
  if (f16) return {f16_value(std::uint16_t(entry)), f16_value(std::uint16_t(entry >> 16))};
  return {__uint_as_float(entry << 16), __uint_as_float(entry & 0xffff0000U)};
}

/// Scale and bias of this lane's outputs g and g + 8.
struct OutputPair {
  ScaleBias upper;
  ScaleBias lower;
};

__device__ inline OutputPair output_pair(const uint2& entry, bool f16) {
  return {scale_bias(entry.x, f16), scale_bias(entry.y, f16)};
}

/// Ends a group: sums += scale * part + bias * inputs; part is cleared. inputs: sums of the inputs of rows 2t
/// and 2t + 1.
__device__ inline void end_group(float (&sums)[4], float (&part)[4], const OutputPair& outputs,
                                 const float2& inputs) {
  sums[0] = fmaf(outputs.upper.bias, inputs.x, fmaf(outputs.upper.scale, part[0], sums[0]));
  sums[1] = fmaf(outputs.upper.bias, inputs.y, fmaf(outputs.upper.scale, part[1], sums[1]));
  sums[2] = fmaf(outputs.lower.bias, inputs.x, fmaf(outputs.lower.scale, part[2], sums[2]));
  sums[3] = fmaf(outputs.lower.bias, inputs.y, fmaf(outputs.lower.scale, part[3], sums[3]));
  part[0] = part[1] = part[2] = part[3] = 0;
}

__device__ inline float2 add2(const float2& a, const float2& b) { return {a.x + b.x, a.y + b.y}; }

/// The rows that a block of a product works on, and their weight.
struct BlockRows {
  const TiledWeight* w;
  unsigned first;
  unsigned count;  ///< 0: none
};

/// The at-th `most` rows of w[0], or those of an expert's tile.
__device__ inline BlockRows block_rows(const TiledProductCudaArgs& args, unsigned at, unsigned most) {
  if (args.experts.most == 0) return {args.w, at * most, min(args.rows - at * most, most)};
  if (at >= *args.experts.used) return {args.w, 0, 0};
  const ExpertTile tile = args.experts.tiles[at];
  return {args.experts.first + tile.expert, tile.first, tile.count};
}

inline std::uint32_t row_blocks(const TiledProductCudaArgs& args, std::size_t most) {
  return args.experts.most == 0 ? blocks_for(args.rows, most) : args.experts.most;
}

/// Where a product goes.
struct ProductOut {
  float* out;
  const float* residual;
};

__device__ inline void write_result(const ProductOut& to, std::size_t at, float value) {
  to.out[at] = to.residual == nullptr ? value : to.residual[at] + value;
}

}  // namespace lanner::kernels
