// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/cuda/device.cuh"
#include "kernels/linear/split_row.cuh"
#include "kernels/moe/choose_experts.cuh"
#include "kernels/moe/router.cuda.h"

namespace lanner::kernels {
namespace {

/// A row's experts and their weights, by a warp.
__device__ void route_row(const RouteCudaArgs& args, unsigned row) {
  const std::size_t first = std::size_t{row} * args.choice.per_row();
  choose_experts(args.choice, row, [&](unsigned slot, unsigned expert, float weight) {
    args.experts[first + slot] = int(expert);
    args.weights[first + slot] = weight;
  });
}

__global__ void route_kernel(RouteCudaArgs args) {
  begin_kernel();
  route_row(args, blockIdx.x);
}

// Two blocks per row, for what may be done at once.
__global__ void __launch_bounds__(kRowThreads, 1)
    route_and_split_kernel(RouteCudaArgs args, SplitRowsCudaArgs rows) {
  let_next_start();
  if (blockIdx.y == 0) return split_row<kRowThreads>(rows, blockIdx.x);
  wait_for_earlier();
  if (threadIdx.x < 32) route_row(args, blockIdx.x);
}

constexpr unsigned kMostExperts = 1024;

__device__ unsigned warp_scan(unsigned value) {
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(0xffffffffU, value, offset);
    if (threadIdx.x % 32 >= offset) value += other;
  }
  return value;
}

/// Sum of the values of all threads of a block of 1024 before this one.
__device__ unsigned sum_before(unsigned value, unsigned* shared) {
  const unsigned up_to = warp_scan(value);
  if (threadIdx.x % 32 == 31) shared[threadIdx.x / 32] = up_to;
  __syncthreads();
  if (threadIdx.x < 32) shared[threadIdx.x] = warp_scan(shared[threadIdx.x]);
  __syncthreads();
  const unsigned before = threadIdx.x < 32 ? 0 : shared[threadIdx.x / 32 - 1];
  __syncthreads();
  return before + up_to - value;
}

// One block; thread e arranges the rows of expert e. Rows of an expert come in any order: no row's result
// depends on its place.
__global__ void __launch_bounds__(kMostExperts) group_pairs_kernel(GroupPairsCudaArgs args) {
  begin_kernel();
  __shared__ unsigned counts[kMostExperts];
  __shared__ unsigned next[kMostExperts];
  __shared__ unsigned sums[32];
  const unsigned e = threadIdx.x;
  counts[e] = 0;
  __syncthreads();
  for (std::size_t p = e; p < args.pairs; p += kMostExperts) atomicAdd(counts + args.experts[p], 1U);
  __syncthreads();
  const unsigned count = counts[e];
  const unsigned tiles = (count + args.tile_rows - 1) / args.tile_rows;
  const unsigned begin = sum_before((count + 7) / 8 * 8, sums);
  const unsigned first_tile = sum_before(tiles, sums);
  next[e] = begin;
  for (unsigned i = 0; i < tiles; ++i)
    args.tiles[first_tile + i] = {e, begin + i * args.tile_rows,
                                  min(count - i * args.tile_rows, args.tile_rows)};
  if (e + 1 == kMostExperts) *args.used = first_tile + tiles;
  __syncthreads();
  for (std::size_t p = e; p < args.pairs; p += kMostExperts) {
    const unsigned place = atomicAdd(next + args.experts[p], 1U);
    args.place[p] = place;
    args.source[place] = std::uint32_t(p / args.per_row);
  }
}

__global__ void combine_experts_kernel(CombineExpertsCudaArgs args) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= args.columns) return;
  const std::size_t first = blockIdx.y * args.k;
  float sum = 0;
  for (std::size_t slot = first; slot < first + args.k; ++slot)
    sum = fmaf(args.weights[slot], args.y[std::size_t{args.place[slot]} * args.columns + i], sum);
  const std::size_t at = blockIdx.y * args.columns + i;
  args.out[at] = args.residual == nullptr ? sum : args.residual[at] + sum;
}

__global__ void add_chosen_kernel(AddChosenCudaArgs args) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= args.columns) return;
  for (std::size_t slot = blockIdx.y * args.k; slot < (blockIdx.y + 1) * args.k; ++slot)
    if (args.experts[slot] == args.expert)
      args.out[blockIdx.y * args.columns + i] += args.weights[slot] * args.y[blockIdx.y * args.columns + i];
}

}  // namespace

void add_chosen_cuda(CudaQueue& queue, const AddChosenCudaArgs& args) {
  queue.launch(add_chosen_kernel, {blocks_for(args.columns, 256), blocks_for(args.rows, 1)}, {256}, args);
}

void route_cuda(CudaQueue& queue, const RouteCudaArgs& args) {
  queue.launch(route_kernel, {blocks_for(args.rows, 1)}, {32}, args);
}

void route_and_split_cuda(CudaQueue& queue, const RouteCudaArgs& args, const SplitRowsCudaArgs& rows) {
  queue.launch(route_and_split_kernel, {blocks_for(args.rows, 1), 2}, {kRowThreads}, args, rows);
}

void group_pairs_cuda(CudaQueue& queue, const GroupPairsCudaArgs& args) {
  queue.launch(group_pairs_kernel, {1}, {kMostExperts}, args);
}

std::size_t grouped_places(std::size_t pairs, std::size_t n_experts) {
  return (pairs + 7 * std::min(pairs, n_experts) + 7) / 8 * 8;
}

std::size_t grouped_tiles(std::size_t pairs, std::size_t n_experts, std::size_t tile_rows) {
  return pairs / tile_rows + std::min(pairs, n_experts);
}

void combine_experts_cuda(CudaQueue& queue, const CombineExpertsCudaArgs& args) {
  queue.launch(combine_experts_kernel, {blocks_for(args.columns, 256), blocks_for(args.rows, 1)}, {256},
               args);
}

}  // namespace lanner::kernels
