// SPDX-License-Identifier: MIT
#include "kernels/attention/attention_tensor.cuh"
#include "kernels/attention/attention_tensor.h"
#include "kernels/attention/head_rows.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kWarps = 8;
constexpr unsigned kThreads = 32 * kWarps;
constexpr unsigned kKeys = kBlock / kWarps;  // of a block, to a warp
static_assert(kKeys == 8);

/// The keys of a warp, whole, on their way.
template <unsigned kDim>
struct Keys {
  static constexpr unsigned kUnits = kDim / 32;
  uint4 units[kUnits];

  __device__ void load(const __nv_bfloat16* block) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned key = threadIdx.x / 32 * kKeys + lane / 4;
    const auto* from = reinterpret_cast<const uint4*>(block + std::size_t{key} * kDim) + lane % 4;
#pragma unroll
    for (unsigned unit = 0; unit < kUnits; ++unit) units[unit] = from[unit * 4];
  }

  /// `own` is the key of place `place`.
  __device__ void replace(const std::uint16_t* own, unsigned place) {
    const unsigned lane = threadIdx.x % 32;
    if (threadIdx.x / 32 * kKeys + lane / 4 != place) return;
#pragma unroll
    for (unsigned unit = 0; unit < kUnits; ++unit)
      units[unit] = reinterpret_cast<const uint4*>(own)[unit * 4 + lane % 4];
  }
};

/// Scores of the keys, to the bits of attention_tensor_cuda().
template <unsigned kDim>
__device__ void score_keys(TensorShared<1>& shared, const std::uint16_t* queries, const Keys<kDim>& keys,
                           const AttentionRowCuda& row, unsigned group, float scale, int position) {
  const unsigned lane = threadIdx.x % 32;
  float scores[4] = {};
#pragma unroll
  for (unsigned unit = 0; unit < Keys<kDim>::kUnits; ++unit)
#pragma unroll
    for (unsigned part = 0; part < kParts; ++part) {
      const std::uint16_t* q =
          queries + (part * 16 + lane / 4) * kQueryStride<kDim> + unit * 32 + lane % 4 * 8;
      const uint4 upper = *reinterpret_cast<const uint4*>(q);
      const uint4 lower = *reinterpret_cast<const uint4*>(q + 8 * kQueryStride<kDim>);
      multiply_add_bf16(scores, {upper.x, lower.x, upper.y, lower.y}, keys.units[unit].x, keys.units[unit].y);
      multiply_add_bf16(scores, {upper.z, lower.z, upper.w, lower.w}, keys.units[unit].z, keys.units[unit].w);
    }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned q = lane / 4 + i / 2 * 8;
    const unsigned key = threadIdx.x / 32 * kKeys + lane % 4 * 2 + i % 2;
    const int at = position + int(key);
    if (q < group) shared.scores[q][key] = at >= row.begin && at < row.end ? scores[i] * scale : -INFINITY;
  }
}

/// A warp's elements of the values of a block: column n of its tile j is element n * kColumns + j.
template <unsigned kDim>
struct Values {
  static constexpr unsigned kColumns = kDim / kWarps / 8;  // 2, 4 or 8
  static constexpr unsigned kWords = kColumns / 2;
  std::uint32_t words[kBlock / 16][4][kWords];  // keys 2t, 2t + 1, 2t + 8, 2t + 9 of each step

  __device__ void load(const __nv_bfloat16* block, int position, const AttentionRowCuda& row) {
#pragma unroll
    for (unsigned step = 0; step < kBlock / 16; ++step)
#pragma unroll
      for (unsigned r = 0; r < 4; ++r) {
        const int at = position + int(key(step, r));
        // What lies outside may be anything, and zero times that is not always zero.
        load_words(words[step][r], block + std::size_t{key(step, r)} * kDim + column(),
                   at >= row.begin && at < row.end);
      }
  }

  /// `own` is the value of place `place`.
  __device__ void replace(const std::uint16_t* own, unsigned place) {
#pragma unroll
    for (unsigned step = 0; step < kBlock / 16; ++step)
#pragma unroll
      for (unsigned r = 0; r < 4; ++r) {
        if (key(step, r) != place) continue;
#pragma unroll
        for (unsigned w = 0; w < kWords; ++w)
          words[step][r][w] = reinterpret_cast<const std::uint32_t*>(own + column())[w];
      }
  }

  __device__ std::uint32_t pair(unsigned step, unsigned r, unsigned j) const {
    return __byte_perm(words[step][r][j / 2], words[step][r + 1][j / 2], j % 2 == 0 ? 0x5410 : 0x7632);
  }

 private:
  __device__ static unsigned key(unsigned step, unsigned r) {
    return step * 16 + threadIdx.x % 4 * 2 + r % 2 + r / 2 * 8;
  }
  __device__ static unsigned column() {
    return threadIdx.x / 32 * (kDim / kWarps) + threadIdx.x % 32 / 4 * kColumns;
  }
  __device__ static void load_words(std::uint32_t (&to)[kWords], const __nv_bfloat16* from, bool inside) {
#pragma unroll
    for (unsigned w = 0; w < kWords; ++w) to[w] = 0;
    if (!inside) return;
    if constexpr (kWords == 4) {
      const uint4 v = *reinterpret_cast<const uint4*>(from);
      to[0] = v.x;
      to[1] = v.y;
      to[2] = v.z;
      to[3] = v.w;
    } else if constexpr (kWords == 2) {
      const uint2 v = *reinterpret_cast<const uint2*>(from);
      to[0] = v.x;
      to[1] = v.y;
    } else {
      to[0] = *reinterpret_cast<const std::uint32_t*>(from);
    }
  }
};

template <unsigned kDim>
using Sums = float[Values<kDim>::kColumns][4];

template <unsigned kDim>
__device__ void add_values(Sums<kDim>& sums, const TensorShared<1>& shared, const Values<kDim>& values) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) sums[j][i] *= shared.correction[lane / 4 + i / 2 * 8];
#pragma unroll
  for (unsigned step = 0; step < kBlock / 16; ++step) {
    std::uint32_t weights[4][kParts];
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
      const float* at = &shared.scores[lane / 4 + r % 2 * 8][step * 16 + lane % 4 * 2 + r / 2 * 8];
      split_pair(weights[r], at[0], at[1]);
    }
#pragma unroll
    for (unsigned part = 0; part < kParts; ++part)
#pragma unroll
      for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
        multiply_add_bf16(sums[j], {weights[0][part], weights[1][part], weights[2][part], weights[3][part]},
                          values.pair(step, 0, j), values.pair(step, 2, j));
  }
}

/// Calls use(query, element, j, i) for every sum of this thread.
template <unsigned kDim, typename Use>
__device__ void for_sums(unsigned group, Use&& use) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned q = lane / 4 + i / 2 * 8;
      const unsigned d =
          threadIdx.x / 32 * (kDim / kWarps) + (lane % 4 * 2 + i % 2) * Values<kDim>::kColumns + j;
      if (q < group) use(q, d, j, i);
    }
}

/// One head from its projection into x: normed, and rotated where it is not a value.
enum class HeadPart : std::uint8_t { kQuery, kKey, kValue };

template <unsigned kDim>
__device__ void form_head(float* x, const AttentionHeadsCudaArgs& args, unsigned row, HeadPart part,
                          unsigned head) {
  const unsigned lane = threadIdx.x % 32;
  const bool query = part == HeadPart::kQuery;
  const std::size_t own = (std::size_t{row} * args.kv_heads + head) * kDim;
  const float* from = query ? args.q + std::size_t{row} * args.q_row + std::size_t{head} * args.q_head
                            : (part == HeadPart::kKey ? args.k : args.v) + own;
  const float* gain = query ? args.q_gain : part == HeadPart::kKey ? args.k_gain : nullptr;
  // All is asked for before anything is used.
  float v[kDim / 32];
  float gains[kDim / 32];
  float cos[kDim / 64];
  float sin[kDim / 64];
#pragma unroll
  for (unsigned k = 0; k < kDim / 32; ++k) {
    v[k] = __ldcg(from + lane + k * 32);
    gains[k] = gain == nullptr ? 1.0F : __ldg(gain + lane + k * 32);
  }
#pragma unroll
  for (unsigned k = 0; k < kDim / 64; ++k) {
    const unsigned j = lane + k * 32;
    const bool turns = part != HeadPart::kValue && j < args.frequencies;
    cos[k] = turns ? __ldcg(args.cos + std::size_t{row} * args.frequencies + j) : 1.0F;
    sin[k] = turns ? __ldcg(args.sin + std::size_t{row} * args.frequencies + j) : 0.0F;
  }
  float scale = 1;
  if (part != HeadPart::kValue || args.norm_values) {
    float sum = 0;
#pragma unroll
    for (unsigned k = 0; k < kDim / 32; ++k) sum = fmaf(v[k], v[k], sum);
    const float eps = query ? args.q_eps : part == HeadPart::kKey ? args.k_eps : args.v_eps;
    scale = 1.0F / sqrtf(warp_sum(sum) / float(kDim) + eps);
  }
#pragma unroll
  for (unsigned k = 0; k < kDim / 32; ++k) x[lane + k * 32] = v[k] * scale * gains[k];
  __syncwarp();
  if (part == HeadPart::kValue) return;
#pragma unroll
  for (unsigned k = 0; k < kDim / 64; ++k) {
    const unsigned j = lane + k * 32;
    if (j >= args.frequencies) continue;
    const float2 pair = turn_pair(x[j], x[j + args.pair_offset], cos[k], sin[k]);
    x[j] = pair.x;
    x[j + args.pair_offset] = pair.y;
  }
  __syncwarp();
}

/// The key and the value of a row's own position, as BF16.
template <unsigned kDim>
struct OwnHeads {
  alignas(16) std::uint16_t key[kDim];
  alignas(16) std::uint16_t value[kDim];
};

/// The row's queries of one kv head, as BF16 parts. `stores`: its key and value go into the cache and into
/// `kept`. Rows of queries beyond the group stay as they are: nobody reads what is computed of them.
template <unsigned kDim>
__device__ void form_heads(std::uint16_t* queries, OwnHeads<kDim>& kept, const AttentionHeadsCudaArgs& heads,
                           const Tile& tile, const KvPlacesCuda& place, bool stores) {
  __shared__ alignas(16) float memory[kWarps][kDim];
  float* x = memory[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned row = tile.first_row;
  const unsigned own = stores ? 2 : 0;
  for (unsigned item = threadIdx.x / 32; item < tile.group + own; item += kWarps) {
    const HeadPart part = item >= own ? HeadPart::kQuery : item == 0 ? HeadPart::kKey : HeadPart::kValue;
    const unsigned q = item - own;
    form_head<kDim>(x, heads, row, part,
                    part == HeadPart::kQuery ? tile.kv_head * tile.group + q : tile.kv_head);
    if (part == HeadPart::kQuery) {
#pragma unroll
      for (unsigned d = lane * 2; d < kDim; d += 64)
        store_query_pair<1, kDim>(queries, q, d, *reinterpret_cast<const float2*>(x + d));
    } else {
      std::uint16_t* keep = part == HeadPart::kKey ? kept.key : kept.value;
#pragma unroll
      for (unsigned d = lane * 2; d < kDim; d += 64)
        *reinterpret_cast<std::uint32_t*>(keep + d) = bf16_pair(x[d], x[d + 1]);
      KvPlaceCuda to = place.value;
      if (part == HeadPart::kKey) to = place.key;
      write_kv_head(to, x, tile.kv_head, kDim, KvType::kBF16, 0);
    }
    __syncwarp();
  }
}

/// Blocks of 64 positions of one part that a row reads.
struct PartBlocks {
  int first;
  int end;

  __device__ PartBlocks(const TileRange& range, int part)
      : first(max(part * int(kPartBlocks), range.begin / int(kBlock))),
        end(min((part + 1) * int(kPartBlocks), (range.end + int(kBlock) - 1) / int(kBlock))) {}
};

/// One part of 256 positions; `keys` and `values` are those of its first block.
template <unsigned kDim>
__device__ void run_part(Sums<kDim>& sums, TensorShared<1>& shared, Keys<kDim>& keys, Values<kDim>& values,
                         const std::uint16_t* queries, const AttentionCudaArgs& args,
                         const AttentionRowCuda& row, const Tile& tile, const PartBlocks& blocks) {
  if (threadIdx.x < 16) {
    shared.largest[threadIdx.x] = -INFINITY;
    shared.sum[threadIdx.x] = 0;
  }
#pragma unroll
  for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) sums[j][i] = 0;
  for (int block = blocks.first; block < blocks.end; ++block) {
    const int position = block * int(kBlock);
    const int at = block - row.first_block;
    score_keys<kDim>(shared, queries, keys, row, tile.group, args.scale, position);
    // What is needed next is on its way while weights are found, and while keys are scored.
    const bool more = block + 1 < blocks.end;
    if (more) keys.load(head_of<__nv_bfloat16>(row.keys[at + 1], args, tile));
    __syncthreads();
    soften_block<kWarps>(shared, tile);
    __syncthreads();
    add_values<kDim>(sums, shared, values);
    if (more)
      values.load(head_of<__nv_bfloat16>(row.values[at + 1], args, tile), position + int(kBlock), row);
    __syncthreads();
  }
}

// Fast because a block forms the queries that it needs and stores the key and the value that it reads, which
// saves a kernel, and because what it reads is on its way before that: tables before the kernel ahead has
// ended, keys and values before the queries are there. Its own key and value come from shared memory.
template <unsigned kDim, bool kSplit>
__global__ void __launch_bounds__(kThreads, kDim > 256 ? 1 : 2)
    attend_heads_kernel(const __grid_constant__ AttentionHeadsCudaArgs heads,
                        const __grid_constant__ AttentionCudaArgs args) {
  let_next_start();
  __shared__ TensorShared<1> shared;
  __shared__ OwnHeads<kDim> own;
  extern __shared__ uint4 query_memory[];
  auto* queries = reinterpret_cast<std::uint16_t*>(query_memory);
  const Tile tile = block_tile(args, 1);
  const AttentionRowCuda row = args.row[tile.first_row];
  const TileRange range = range_of(args, tile);
  int part = range.first_part + (kSplit ? int(blockIdx.z) : 0);
  if (part >= range.end_part) return;
  PartBlocks blocks(range, part);
  const auto* first_keys = head_of<__nv_bfloat16>(row.keys[blocks.first - row.first_block], args, tile);
  const auto* first_values = head_of<__nv_bfloat16>(row.values[blocks.first - row.first_block], args, tile);
  // The row's own position is its last.
  const bool stores = heads.k != nullptr && (!kSplit || part == range.end_part - 1);
  const KvPlacesCuda place = stores ? heads.place[tile.first_row] : KvPlacesCuda{};
  wait_for_earlier();
  Keys<kDim> keys;
  Values<kDim> values;
  keys.load(first_keys);
  values.load(first_values, blocks.first * int(kBlock), row);
  form_heads<kDim>(queries, own, heads, tile, place, stores);
  __syncthreads();
  if (stores && (range.end - 1) / int(kBlock) == blocks.first) {
    keys.replace(own.key, unsigned(range.end - 1) % kBlock);
    values.replace(own.value, unsigned(range.end - 1) % kBlock);
  }
  Sums<kDim> sums;
  if constexpr (kSplit) {
    run_part<kDim>(sums, shared, keys, values, queries, args, row, tile, blocks);
    const auto part_of = [&](unsigned q) {
      return args.scratch + (query_offset(args, tile, q) / kDim * args.parts + blockIdx.z) * (kDim + 2);
    };
    for_sums<kDim>(tile.group,
                   [&](unsigned q, unsigned d, unsigned j, unsigned i) { part_of(q)[2 + d] = sums[j][i]; });
    if (threadIdx.x < tile.group) {
      part_of(threadIdx.x)[0] = shared.largest[threadIdx.x];
      part_of(threadIdx.x)[1] = shared.sum[threadIdx.x];
    }
  } else {
    Sums<kDim> totals = {};
    Running running[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
    for (; part < range.end_part; ++part) {
      if (part > range.first_part) {
        blocks = PartBlocks(range, part);
        const int at = blocks.first - row.first_block;
        keys.load(head_of<__nv_bfloat16>(row.keys[at], args, tile));
        values.load(head_of<__nv_bfloat16>(row.values[at], args, tile), blocks.first * int(kBlock), row);
      }
      run_part<kDim>(sums, shared, keys, values, queries, args, row, tile, blocks);
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned q = threadIdx.x % 32 / 4 + half * 8;
        const float largest = shared.largest[q];
        if (!(largest > -INFINITY)) continue;
        const Join factors = join(running[half], largest, shared.sum[q]);
#pragma unroll
        for (unsigned j = 0; j < Values<kDim>::kColumns; ++j)
#pragma unroll
          for (unsigned i = 2 * half; i < 2 * half + 2; ++i)
            totals[j][i] = fmaf(sums[j][i], factors.part, totals[j][i] * factors.before);
      }
      __syncthreads();
    }
    for_sums<kDim>(tile.group, [&](unsigned q, unsigned d, unsigned j, unsigned i) {
      store_output(args, query_offset(args, tile, q) / kDim, d, totals[j][i] / running[i / 2].sum);
    });
  }
}

template <unsigned kDim>
void run(CudaQueue& queue, const AttentionHeadsCudaArgs& heads, const AttentionCudaArgs& args, bool split) {
  const Grid grid = {blocks_for(args.rows, 1), blocks_for(args.kv_heads, 1),
                     split ? blocks_for(args.parts, 1) : 1U};
  const Block block = {kThreads, std::size_t{kParts} * 16 * kQueryStride<kDim> * 2};
  if (split) return queue.launch(attend_heads_kernel<kDim, true>, grid, block, heads, args);
  queue.launch(attend_heads_kernel<kDim, false>, grid, block, heads, args);
}

}  // namespace

void attend_heads_tensor_cuda(CudaQueue& queue, const AttentionHeadsCudaArgs& heads,
                              const AttentionCudaArgs& args, bool split) {
  if (args.head_dim == 128) return run<128>(queue, heads, args, split);
  if (args.head_dim == 256) return run<256>(queue, heads, args, split);
  run<512>(queue, heads, args, split);
}

}  // namespace lanner::kernels
