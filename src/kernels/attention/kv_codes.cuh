// SPDX-License-Identifier: MIT
// For .cu files: keys and values as they lie in a block, floats or codes; see kv_type.h.
#pragma once

#include "kernels/attention/attention.cuda.h"
#include "kernels/cuda/device.cuh"

namespace lanner::kernels {

/// Bytes of one head of a block with codes.
struct CodeShape {
  unsigned bits;
  unsigned groups;

  __device__ CodeShape(unsigned code_bits, unsigned head_dim)
      : bits(code_bits), groups((head_dim + kKvGroup - 1) / kKvGroup) {}
  __device__ unsigned group_bytes() const { return kKvGroup / 8 * bits; }
  __device__ std::size_t row_bytes() const { return std::size_t{groups} * group_bytes(); }
  __device__ std::size_t scales_offset() const { return kKvBlock * row_bytes(); }
  __device__ std::size_t head_bytes() const { return kKvBlock * (row_bytes() + 4 * groups); }
};

/// Reads positions of one head of a block of floats.
template <typename T>
class FloatRows {
 public:
  __device__ FloatRows(const void* block, const AttentionCudaArgs& args, unsigned kv_head)
      : head_(static_cast<const T*>(block) + std::size_t{kv_head} * kKvBlock * args.head_dim),
        head_dim_(unsigned(args.head_dim)) {}

  /// Elements [d, d + 4), d a multiple of 4.
  __device__ float4 four(unsigned place, unsigned d) const {
    return widened(head_ + std::size_t{place} * head_dim_ + d);
  }
  __device__ float one(unsigned place, unsigned d) const {
    return float(head_[std::size_t{place} * head_dim_ + d]);
  }

 private:
  __device__ static float4 widened(const float* from) { return *reinterpret_cast<const float4*>(from); }
  __device__ static float4 widened(const __nv_bfloat16* from) {
    const uint2 bits = *reinterpret_cast<const uint2*>(from);
    return {__uint_as_float(bits.x << 16), __uint_as_float(bits.x & 0xffff0000U),
            __uint_as_float(bits.y << 16), __uint_as_float(bits.y & 0xffff0000U)};
  }

  const T* head_;
  unsigned head_dim_;
};

/// The same of codes, each code * scale + bias rounded once.
class CodeRows {
 public:
  __device__ CodeRows(const void* block, const AttentionCudaArgs& args, unsigned kv_head)
      : shape_(args.bits, unsigned(args.head_dim)),
        head_(static_cast<const std::uint8_t*>(block) + kv_head * shape_.head_bytes()) {}

  __device__ float4 four(unsigned place, unsigned d) const {
    const std::uint8_t* codes = group_of(place, d);
    const unsigned i = d % kKvGroup;
    unsigned bytes;
    if (shape_.bits == 8) {
      bytes = *reinterpret_cast<const std::uint32_t*>(codes + i);
    } else {
      bytes = *reinterpret_cast<const std::uint32_t*>(codes + i % 32) >> (i / 32 * 4) & 0x0f0f0f0fU;
      if (shape_.bits == 6)
        bytes |= (*reinterpret_cast<const std::uint32_t*>(codes + 32 + i % 16) >> (i / 16 * 2) & 0x03030303U)
                 << 4;
    }
    const float2 affine = affine_of(place, d);
    return {fmaf(float(bytes & 0xff), affine.x, affine.y), fmaf(float(bytes >> 8 & 0xff), affine.x, affine.y),
            fmaf(float(bytes >> 16 & 0xff), affine.x, affine.y),
            fmaf(float(bytes >> 24), affine.x, affine.y)};
  }
  __device__ float one(unsigned place, unsigned d) const {
    const std::uint8_t* codes = group_of(place, d);
    const unsigned i = d % kKvGroup;
    unsigned code;
    if (shape_.bits == 8) {
      code = codes[i];
    } else {
      code = codes[i % 32] >> (i / 32 * 4) & 0xf;
      if (shape_.bits == 6) code |= (codes[32 + i % 16] >> (i / 16 * 2) & 3U) << 4;
    }
    const float2 affine = affine_of(place, d);
    return fmaf(float(code), affine.x, affine.y);
  }

 private:
  __device__ const std::uint8_t* group_of(unsigned place, unsigned d) const {
    return head_ + place * shape_.row_bytes() + d / kKvGroup * shape_.group_bytes();
  }
  /// Scale and bias.
  __device__ float2 affine_of(unsigned place, unsigned d) const {
    const auto* pairs = reinterpret_cast<const std::uint32_t*>(head_ + shape_.scales_offset());
    const std::uint32_t pair = pairs[place * shape_.groups + d / kKvGroup];
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000U)};
  }

  CodeShape shape_;
  const std::uint8_t* head_;
};

/// Quantizes `count` elements of a group by one warp, to the bits of write_kv_rows().
__device__ inline void write_code_group(std::uint8_t* codes, std::uint32_t* affine, const float* x,
                                        unsigned count, unsigned bits) {
  const unsigned lane = threadIdx.x % 32;
  const bool has_a = lane < count;
  const bool has_b = 32 + lane < count;
  const float a = has_a ? x[lane] : 0.0F;
  const float b = has_b ? x[32 + lane] : 0.0F;
  const float high = warp_max(fmaxf(has_a ? a : -INFINITY, has_b ? b : -INFINITY));
  const float low = -warp_max(fmaxf(has_a ? -a : -INFINITY, has_b ? -b : -INFINITY));
  const auto levels = float((1U << bits) - 1);
  constexpr float kEpsilon = 1e-7F;
  const float span = fmaxf((high - low) / levels, kEpsilon);
  const bool low_dominates = fabsf(low) > fabsf(high);
  const float edge = low_dominates ? low : high;
  const float step = low_dominates ? span : -span;
  const float edge_code = rintf(edge / step);
  const float scale = edge_code == 0 ? step : edge / edge_code;
  const float bias = edge_code == 0 ? 0.0F : edge;
  const auto code = [&](bool has, float value) {
    return has ? unsigned(rintf(fminf(fmaxf(0.0F, (value - bias) / scale), levels))) : 0U;
  };
  const unsigned code_a = code(has_a, a);
  const unsigned code_b = code(has_b, b);
  if (bits == 8) {
    codes[lane] = std::uint8_t(code_a);
    codes[32 + lane] = std::uint8_t(code_b);
  } else {
    codes[lane] = std::uint8_t((code_a & 0xf) | (code_b & 0xf) << 4);
    if (bits == 6) {
      const unsigned high_bits = code_a >> 4 | code_b >> 4 << 4;
      const unsigned next = __shfl_down_sync(0xffffffffU, high_bits, 16);
      if (lane < 16) codes[32 + lane] = std::uint8_t(high_bits | next << 2);
    }
  }
  if (lane == 0) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(scale, bias);
    *affine = *reinterpret_cast<const std::uint32_t*>(&pair);
  }
}

/// One head of one position by one warp: floats into place `to.place` of a block.
__device__ inline void write_kv_head(const KvPlaceCuda& to, const float* x, unsigned head, unsigned head_dim,
                                     KvType type, unsigned bits) {
  const unsigned lane = threadIdx.x % 32;
  if (bits == 0) {
    const std::size_t first = (std::size_t{head} * kKvBlock + to.place) * head_dim;
    for (unsigned i = lane; i < head_dim; i += 32) {
      if (type == KvType::kBF16)
        static_cast<__nv_bfloat16*>(to.block)[first + i] = __float2bfloat16_rn(x[i]);
      else
        static_cast<float*>(to.block)[first + i] = x[i];
    }
    return;
  }
  const CodeShape shape(bits, head_dim);
  auto* base = static_cast<std::uint8_t*>(to.block) + head * shape.head_bytes();
  auto* affine = reinterpret_cast<std::uint32_t*>(base + shape.scales_offset()) + to.place * shape.groups;
  for (unsigned group = 0; group < shape.groups; ++group)
    write_code_group(base + to.place * shape.row_bytes() + group * shape.group_bytes(), affine + group,
                     x + group * kKvGroup, min(unsigned(kKvGroup), head_dim - group * unsigned(kKvGroup)),
                     bits);
}

}  // namespace lanner::kernels
