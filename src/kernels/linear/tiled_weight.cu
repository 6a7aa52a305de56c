// SPDX-License-Identifier: MIT
#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/weight_element.cuh"

namespace lanner::kernels {
namespace {

// Inputs of a chunk that lane l holds: unit u, inputs 8 (l % 4) + 0..7, in pairs (0,4) (1,5) (2,6) (3,7): the
// order in which masking a word of 4-bit codes yields them.
__device__ constexpr unsigned kPairOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};

__device__ std::uint32_t padded_code(const WeightView& w, std::size_t row, std::size_t column) {
  return row < w.rows && column < w.columns ? code_at(w, row * w.columns + column) : 0;
}

__device__ float padded_dense(const WeightView& w, std::size_t row, std::size_t column) {
  return row < w.rows && column < w.columns ? element_at(w, row, column) : 0.0F;
}

// Power of two that brings a group of elements just below 2^15.
__device__ int dense_shift(const WeightView& w, std::size_t row, std::size_t first, unsigned group) {
  float largest = 0;
  for (unsigned i = 0; i < group; ++i) largest = fmaxf(largest, fabsf(padded_dense(w, row, first + i)));
  if (!(largest > 0) || isinf(largest)) return 0;
  return min(14 - ilogbf(largest), 120);
}

// One thread per lane of a (tile, chunk).
__global__ void tile_codes_kernel(TiledWeight to, WeightView from) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= std::size_t{to.tiles()} * to.chunks * 32) return;
  const unsigned lane = unsigned(i % 32);
  const std::size_t tile_chunk = i / 32;
  const std::size_t chunk = tile_chunk % to.chunks;
  const std::size_t row = tile_chunk / to.chunks * 16 + lane / 4;
  const unsigned words = to.code == TileCode::kInt4 ? 4 : to.code == TileCode::kInt8 ? 8 : 16;
  auto* out =
      const_cast<std::uint32_t*>(static_cast<const std::uint32_t*>(to.codes)) + tile_chunk * 32 * words;
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned unit = 0; unit < 2; ++unit) {
      const std::size_t r = row + 8 * half;
      const std::size_t k = chunk * 64 + unit * 32 + lane % 4 * 8;
      if (to.code == TileCode::kInt4) {
        std::uint32_t word = 0;
        for (unsigned j = 0; j < 8; ++j) word |= padded_code(from, r, k + j) << (4 * j);
        out[lane * 4 + half * 2 + unit] = word;
      } else if (to.code == TileCode::kInt8) {
        for (unsigned part = 0; part < 2; ++part) {
          std::uint32_t word = 0;
          for (unsigned j = 0; j < 4; ++j)
            word |= padded_code(from, r, k + kPairOrder[4 * part + j]) << (8 * j);
          out[(unit * 32 + lane) * 4 + half * 2 + part] = word;
        }
      } else {
        const int shift = to.half ? -ilogbf(to.factors[r]) : dense_shift(from, r, chunk * 64, 64);
        for (unsigned part = 0; part < 4; ++part) {
          std::uint32_t word = 0;
          for (unsigned j = 0; j < 2; ++j)
            word |= std::uint32_t{__half_as_ushort(
                        __float2half_rn(ldexpf(padded_dense(from, r, k + kPairOrder[2 * part + j]), shift)))}
                    << (16 * j);
          out[((unit * 2 + half) * 32 + lane) * 4 + part] = word;
        }
      }
    }
}

/// What the tables of half precision hold scales times: products take 4-bit codes as subnormal halves.
__device__ float code_units(const TiledWeight& w) {
  return w.half && w.code == TileCode::kInt4 ? 0x1p24F : 1.0F;
}

__device__ std::uint16_t table_bits(const void* table, std::size_t index) {
  return static_cast<const std::uint16_t*>(table)[index];
}

// One thread per (tile, group, output of the tile).
__global__ void tile_tables_kernel(TiledWeight to, WeightView from) {
  begin_kernel();
  const std::size_t groups = std::size_t{to.chunks} * 64 / to.group;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= to.tiles() * groups * 16) return;
  const std::size_t tile_group = i / 16;
  const std::size_t group = tile_group % groups;
  const std::size_t row = tile_group / groups * 16 + i % 2 * 8 + i % 16 / 2;
  std::uint32_t entry = 0;
  if (row < from.rows && group * to.group < from.columns) {
    const std::size_t index = row * (from.columns / to.group) + group;
    if (to.code == TileCode::kHalf && to.half) {
      entry = 0x3c00;  // 1
    } else if (to.code == TileCode::kHalf) {
      const float scale = ldexpf(1.0F, -dense_shift(from, row, group * 64, 64));
      entry = __float_as_uint(scale) >> 16;
    } else if (to.half) {
      const float factor = 1.0F / to.factors[row];
      const float scale = float_at(from.scales, index, from.spec.dtype) * factor * code_units(to);
      const float bias = float_at(from.biases, index, from.spec.dtype) * factor;
      entry = __half_as_ushort(__float2half_rn(scale)) |
              std::uint32_t{__half_as_ushort(__float2half_rn(bias))} << 16;
    } else {
      entry = table_bits(from.scales, index) | std::uint32_t{table_bits(from.biases, index)} << 16;
    }
  }
  const_cast<std::uint32_t*>(static_cast<const std::uint32_t*>(to.tables))[i] = entry;
}

/// Largest magnitude that a group's code can stand for.
__device__ float group_bound(const WeightView& w, std::size_t index) {
  const float scale = float_at(w.scales, index, w.spec.dtype);
  const float bias = float_at(w.biases, index, w.spec.dtype);
  const float end = fmaf(scale, float((1 << w.spec.bits) - 1), bias);
  return fmaxf(fabsf(bias), fabsf(end));
}

// One warp per output: the power of two above its largest element, times 2^room.
__global__ void output_factors_kernel(float* factors, unsigned outputs, WeightView w, int room) {
  begin_kernel();
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= outputs) return;
  float largest = 0;
  if (row < w.rows) {
    const bool dense = w.spec.format == WeightFormat::kDense;
    const std::size_t count = dense ? w.columns : w.columns / unsigned(w.spec.group);
    for (std::size_t i = threadIdx.x % 32; i < count; i += 32)
      largest = fmaxf(largest, dense ? fabsf(element_at(w, row, i)) : group_bound(w, row * count + i));
  }
  largest = warp_max(largest);
  const bool usable = largest > 0 && !isinf(largest);
  if (threadIdx.x % 32 == 0)
    factors[row] = usable ? ldexpf(1.0F, min(max(ilogbf(largest) + 1 + room, -100), 100)) : 1.0F;
}

__device__ float table_value(std::uint32_t bits, bool f16) {
  return f16 ? f16_value(std::uint16_t(bits)) : bf16_value(std::uint16_t(bits));
}

__global__ void embed_tiled_kernel(float* out, const std::int32_t* ids, TiledWeight w, float scale) {
  begin_kernel();
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= w.columns) return;
  const unsigned row = unsigned(ids[blockIdx.y]);
  const unsigned g = row % 8;
  const unsigned half = row / 8 % 2;
  const std::size_t tile = row / 16;
  const unsigned chunk = k / 64;
  const unsigned unit = k / 32 % 2;
  const unsigned lane = g * 4 + k / 8 % 4;
  const unsigned j = k % 8;
  const auto* words = static_cast<const std::uint32_t*>(w.codes);
  const std::size_t at = tile * w.chunks + chunk;
  // Where pair order puts input j.
  const unsigned place = j < 4 ? 2 * j : 2 * (j - 4) + 1;
  float code = 0;
  if (w.code == TileCode::kInt4) {
    code = float(words[at * 128 + lane * 4 + half * 2 + unit] >> (4 * j) & 15U);
  } else if (w.code == TileCode::kInt8) {
    code = float(words[at * 256 + (unit * 32 + lane) * 4 + half * 2 + place / 4] >> (8 * (place % 4)) & 255U);
  } else {
    const std::uint32_t word = words[at * 512 + ((unit * 2 + half) * 32 + lane) * 4 + place / 2];
    code = f16_value(std::uint16_t(word >> (16 * (place % 2))));
  }
  const std::size_t groups = std::size_t{w.chunks} * 64 / w.group;
  const std::uint32_t entry =
      static_cast<const std::uint32_t*>(w.tables)[((tile * groups + k / w.group) * 8 + g) * 2 + half];
  const float units = table_value(entry & 0xffffU, w.f16_tables) / code_units(w);
  const float value = __fadd_rn(__fmul_rn(units, code), table_value(entry >> 16, w.f16_tables));
  out[std::size_t{blockIdx.y} * w.columns + k] = (w.half ? value * w.factors[row] : value) * scale;
}

TileCode tile_code(const WeightSpec& spec) {
  if (spec.format == WeightFormat::kDense) return TileCode::kHalf;
  return spec.bits <= 4 ? TileCode::kInt4 : TileCode::kInt8;
}

std::size_t chunks_of(const WeightSpec& spec, std::size_t columns) {
  const std::size_t chunks = (columns + 63) / 64;
  return spec.format == WeightFormat::kAffine && spec.group == 128 ? (chunks + 1) / 2 * 2 : chunks;
}

}  // namespace

bool can_tile(const WeightSpec& spec) {
  const bool half = spec.dtype == DType::kBF16 || spec.dtype == DType::kF16;
  return half && (spec.format == WeightFormat::kAffine || spec.format == WeightFormat::kDense);
}

TiledWeight tiled_weight(const WeightSpec& spec, std::size_t rows, std::size_t columns, void* codes,
                         void* tables, float* factors) {
  const bool dense = spec.format == WeightFormat::kDense;
  return {.codes = codes,
          .tables = tables,
          .rows = std::uint32_t(rows),
          .columns = std::uint32_t(columns),
          .chunks = std::uint32_t(chunks_of(spec, columns)),
          .group = dense ? 64U : std::uint32_t(spec.group),
          .code = tile_code(spec),
          .f16_tables = factors != nullptr || (!dense && spec.dtype == DType::kF16),
          .half = factors != nullptr,
          .factors = factors};
}

std::size_t tiled_code_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns) {
  const TileCode code = tile_code(spec);
  const std::size_t bytes = code == TileCode::kInt4 ? 512 : code == TileCode::kInt8 ? 1024 : 2048;
  return (rows + 15) / 16 * chunks_of(spec, columns) * bytes;
}

std::size_t tiled_table_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns) {
  const std::size_t group = spec.format == WeightFormat::kDense ? 64 : std::size_t(spec.group);
  return (rows + 15) / 16 * (chunks_of(spec, columns) * 64 / group) * 64;
}

void tile_weight_cuda(CudaQueue& queue, const TiledWeight& to, const WeightView& from) {
  constexpr unsigned kThreads = 128;
  constexpr int kRoom = 8;  // the largest scale, of two bits, must stay a half when multiplied by 2^24
  if (to.half)
    queue.launch(output_factors_kernel, {blocks_for(to.tiles() * 16, kThreads / 32)}, {kThreads},
                 const_cast<float*>(to.factors), to.tiles() * 16, from,
                 to.code == TileCode::kInt4 ? kRoom : 0);
  queue.launch(tile_codes_kernel, {blocks_for(std::size_t{to.tiles()} * to.chunks * 32, kThreads)},
               {kThreads}, to, from);
  const std::size_t groups = std::size_t{to.chunks} * 64 / to.group;
  queue.launch(tile_tables_kernel, {blocks_for(to.tiles() * groups * 16, kThreads)}, {kThreads}, to, from);
}

void embed_tiled_cuda(CudaQueue& queue, float* out, const std::int32_t* ids, std::size_t rows,
                      const TiledWeight& w, float scale) {
  queue.launch(embed_tiled_kernel, {blocks_for(w.columns, 256), blocks_for(rows, 1)}, {256}, out, ids, w,
               scale);
}

}  // namespace lanner::kernels
