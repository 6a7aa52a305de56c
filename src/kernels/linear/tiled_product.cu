// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/tile_kernels.h"

namespace lanner::kernels {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Even, so that a group of 128 at the end of a row is whole.
std::size_t padded_units(std::size_t columns) { return (columns + 127) / 128 * 4; }

// Exponent that brings the row's largest magnitude into [2^13, 2^14).
__device__ int row_shift(float largest) {
  if (!(largest > 0) || isinf(largest)) return 0;
  return max(-110, min(13 - ilogbf(largest), 110));
}

__global__ void split_rows_kernel(SplitRowsCudaArgs args) {
  begin_kernel();
  __shared__ float shared[32];
  const std::size_t source = args.place == nullptr ? blockIdx.x : blockIdx.x / args.per_row;
  const unsigned row = args.place == nullptr ? blockIdx.x : args.place[blockIdx.x];
  const float* x = args.x + source * args.columns;
  float largest = 0;
#pragma unroll 4
  for (unsigned k = threadIdx.x * 4; k < unsigned(args.columns); k += blockDim.x * 4) {
    const float4 v = *reinterpret_cast<const float4*>(x + k);
    largest = fmaxf(fmaxf(fmaxf(largest, fabsf(v.x)), fmaxf(fabsf(v.y), fabsf(v.z))), fabsf(v.w));
  }
  const int shift = row_shift(block_max(largest, shared));
  const float factor = ldexpf(1.0F, shift);
  if (threadIdx.x == 0) args.to.factors[row] = ldexpf(1.0F, -shift);
  // A thread takes 8 inputs; four neighbours make a unit.
  for (unsigned octet = threadIdx.x; octet < args.to.units * 4; octet += blockDim.x) {
    std::uint32_t high[4];
    std::uint32_t low[4];
    float sum = 0;
    float4 halves[2] = {};
    if (octet * 8 < unsigned(args.columns)) {
      halves[0] = *reinterpret_cast<const float4*>(x + octet * 8);
      halves[1] = *reinterpret_cast<const float4*>(x + octet * 8 + 4);
    }
    const float* values = reinterpret_cast<const float*>(halves);
#pragma unroll
    for (unsigned pair = 0; pair < 4; ++pair) {
      __half h[2];
      __half l[2];
#pragma unroll
      for (unsigned j = 0; j < 2; ++j) {
        const float value = values[pair + 4 * j] * factor;
        h[j] = __float2half_rn(value);
        l[j] = __float2half_rn(value - __half2float(h[j]));
        sum += __half2float(h[j]) + __half2float(l[j]);
      }
      high[pair] = __half_as_ushort(h[0]) | std::uint32_t{__half_as_ushort(h[1])} << 16;
      low[pair] = __half_as_ushort(l[0]) | std::uint32_t{__half_as_ushort(l[1])} << 16;
    }
    const unsigned unit = octet / 4;
    const std::size_t at = (std::size_t{unit} * args.to.row_tiles + row / 8) * 32 + row % 8 * 4 + octet % 4;
    static_cast<uint4*>(args.to.high)[at] = {high[0], high[1], high[2], high[3]};
    static_cast<uint4*>(args.to.low)[at] = {low[0], low[1], low[2], low[3]};
    const unsigned mask = 0xfU << (threadIdx.x % 32 / 4 * 4);
    sum += __shfl_xor_sync(mask, sum, 1);
    sum += __shfl_xor_sync(mask, sum, 2);
    if (octet % 4 == 0) args.to.sums[std::size_t{unit} * args.to.row_tiles * 8 + row] = sum;
  }
}

}  // namespace

std::size_t split_bytes(std::size_t rows, std::size_t columns) {
  const std::size_t padded = (rows + 7) / 8 * 8;
  return 2 * aligned(padded * padded_units(columns) * 64) + aligned(padded * padded_units(columns) * 4) +
         aligned(padded * 4);
}

SplitRows place_split(void* memory, std::size_t rows, std::size_t columns) {
  const std::size_t padded = (rows + 7) / 8 * 8;
  const std::size_t part = aligned(padded * padded_units(columns) * 64);
  auto* bytes = static_cast<std::uint8_t*>(memory);
  auto* sums = bytes + 2 * part;
  return {.high = bytes,
          .low = bytes + part,
          .sums = reinterpret_cast<float*>(sums),
          .factors = reinterpret_cast<float*>(sums + aligned(padded * padded_units(columns) * 4)),
          .units = std::uint32_t(padded_units(columns)),
          .row_tiles = std::uint32_t(padded / 8)};
}

void split_rows_cuda(CudaQueue& queue, const SplitRowsCudaArgs& args) {
  // Few rows: as many threads as a block may have, for the time of one pass counts.
  queue.launch(split_rows_kernel, {blocks_for(args.rows, 1)}, {args.rows <= 64 ? 1024U : 256U}, args);
}

void tiled_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::size_t rows = args.experts.experts > 0 ? args.experts.pairs / args.experts.most : args.rows;
  if (rows < kLargeTileRows || args.gate != ProductGate::kNone) return narrow_product(queue, args);
  for (unsigned i = 0; i < args.count; ++i) {
    TiledProductCudaArgs one = args;
    one.count = 1;
    one.w[0] = args.w[i];
    one.out[0] = args.out[i];
    wide_product(queue, one);
  }
}

}  // namespace lanner::kernels
