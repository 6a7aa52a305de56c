// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/cuda/device.cuh"
#include "kernels/moe/router.cuda.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kMaxChosen = 32;

// One warp per row finds the largest remaining logit k times; ties go to the lower id.
__global__ void route_kernel(RouteCudaArgs args) {
  begin_kernel();
  const unsigned row = blockIdx.x;
  const unsigned lane = threadIdx.x;
  const float* logits = args.logits + row * args.n_experts;
  __shared__ int chosen[kMaxChosen];
  float last_value = INFINITY;
  int last_id = -1;
  for (unsigned slot = 0; slot < args.k; ++slot) {
    float best = -INFINITY;
    int best_id = 0x7fffffff;
    for (unsigned id = lane; id < args.n_experts; id += 32) {
      const float value = logits[id];
      const bool later = value < last_value || (value == last_value && int(id) > last_id);
      if (later && (value > best || best_id == 0x7fffffff)) {
        best = value;
        best_id = int(id);
      }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xffffffffU, best, offset);
      const int other_id = __shfl_xor_sync(0xffffffffU, best_id, offset);
      if (other_id != 0x7fffffff &&
          (best_id == 0x7fffffff || other > best || (other == best && other_id < best_id))) {
        best = other;
        best_id = other_id;
      }
    }
    last_value = best;
    last_id = best_id;
    if (lane == 0) chosen[slot] = best_id;
  }
  __syncwarp();
  if (lane != 0) return;
  const double largest = double(logits[chosen[0]]);
  for (unsigned i = 1; i < args.k; ++i)
    for (unsigned j = i; j > 0 && chosen[j] < chosen[j - 1]; --j) {
      const int swapped = chosen[j];
      chosen[j] = chosen[j - 1];
      chosen[j - 1] = swapped;
    }
  double sum = 0;
  for (unsigned i = 0; i < args.k; ++i) sum += exp(double(logits[chosen[i]]) - largest);
  for (unsigned i = 0; i < args.k; ++i) {
    float weight = float(exp(double(logits[chosen[i]]) - largest) / sum);
    if (args.expert_scale != nullptr) weight *= args.expert_scale[chosen[i]];
    args.experts[row * args.k + i] = chosen[i];
    args.weights[row * args.k + i] = weight;
  }
}

// One block; thread e counts the pairs of expert e, so the order inside an expert is the order of rows.
__global__ void group_pairs_kernel(GroupPairsCudaArgs args) {
  begin_kernel();
  __shared__ unsigned counts[1024];
  __shared__ unsigned begins[1025];
  const unsigned e = threadIdx.x;
  const unsigned n = unsigned(args.n_experts);
  unsigned count = 0;
  if (e < n)
    for (std::size_t p = 0; p < args.pairs; ++p) count += args.experts[p] == int(e) ? 1U : 0U;
  counts[e] = count;
  __syncthreads();
  if (e == 0) {
    unsigned next = 0;
    unsigned active = 0;
    for (unsigned i = 0; i < n; ++i) {
      begins[i] = next;
      next += (counts[i] + 7) / 8 * 8;
      if (counts[i] != 0) args.active[1 + active++] = i;
    }
    args.active[0] = active;
  }
  __syncthreads();
  if (e >= n) return;
  args.begin[e] = begins[e];
  args.counts[e] = count;
  unsigned place = begins[e];
  for (std::size_t p = 0; p < args.pairs; ++p)
    if (args.experts[p] == int(e)) args.place[p] = place++;
}

__global__ void combine_experts_kernel(CombineExpertsCudaArgs args) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= args.columns) return;
  const std::size_t first = blockIdx.y * args.k;
  float sum = 0;
  for (std::size_t slot = first; slot < first + args.k; ++slot)
    sum += args.weights[slot] * args.y[std::size_t{args.place[slot]} * args.columns + i];
  args.out[blockIdx.y * args.columns + i] = sum;
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

void group_pairs_cuda(CudaQueue& queue, const GroupPairsCudaArgs& args) {
  queue.launch(group_pairs_kernel, {1}, {1024}, args);
}

std::size_t grouped_places(std::size_t pairs, std::size_t n_experts) {
  return (pairs + 7 * std::min(pairs, n_experts) + 7) / 8 * 8;
}

void combine_experts_cuda(CudaQueue& queue, const CombineExpertsCudaArgs& args) {
  queue.launch(combine_experts_kernel, {blocks_for(args.columns, 256), blocks_for(args.rows, 1)}, {256},
               args);
}

}  // namespace lanner::kernels
