// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/sampling/sample_state.cuh"

namespace lanner::kernels {
namespace {

/// Philox4x32-10; see core/philox.h. Word `word` of four.
__device__ std::uint32_t random_word(std::uint64_t seed, std::uint32_t block, std::uint32_t position,
                                     std::uint32_t choice, std::uint32_t word) {
  constexpr std::uint32_t kDrawStream = 0;
  std::uint32_t c[4] = {block, position, kDrawStream, choice};
  auto key0 = std::uint32_t(seed);
  auto key1 = std::uint32_t(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = __umulhi(0xD2511F53U, c[0]);
    const std::uint32_t low0 = 0xD2511F53U * c[0];
    const std::uint32_t high1 = __umulhi(0xCD9E8D57U, c[2]);
    const std::uint32_t low1 = 0xCD9E8D57U * c[2];
    c[0] = high1 ^ c[1] ^ key0;
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ key1;
    c[3] = low0;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return word == 0 ? c[0] : word == 1 ? c[1] : word == 2 ? c[2] : c[3];
}

/// Sum over a block; thread 0 gets it.
__device__ unsigned long long block_mass(unsigned long long mass) {
  __shared__ unsigned long long warps[kSampleThreads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) mass += __shfl_xor_sync(0xffffffffU, mass, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mass;
  __syncthreads();
  mass = 0;
  for (unsigned warp = 0; warp < kSampleThreads / 32; ++warp) mass += warps[warp];
  return mass;
}

__global__ void clear_kernel(std::uint32_t* words, std::size_t count) {
  begin_kernel();
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    words[i] = 0;
}

/// Edits a row's logits and finds the likeliest.
__global__ void __launch_bounds__(kSampleThreads) edit_kernel(SampleCudaArgs args, SampleScratch scratch) {
  begin_kernel();
  const SampleRowCuda& row = args.rows[blockIdx.y];
  SampleRowState& state = scratch.rows[blockIdx.y];
  __shared__ float part[kSamplePart];
  const std::uint32_t begin = blockIdx.x * kSamplePart;
  const std::uint32_t end = min(begin + kSamplePart, args.columns);
  bool bad = false;
  for (std::uint32_t id = begin + threadIdx.x; id < end; id += kSampleThreads) {
    const float logit = row.logits[id];
    bad = bad || !(logit < INFINITY);
    part[id - begin] = id < row.vocabulary ? logit : -INFINITY;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < row.edit_count; i += kSampleThreads) {
    const LogitEdit& edit = row.edits[i];
    const auto id = std::uint32_t(edit.id);
    if (id >= begin && id < end) part[id - begin] = edited_logit(edit, part[id - begin]);
  }
  __syncthreads();
  Ranked<float> top = nothing_ranked<float>();
  Ranked<float> allowed_top = nothing_ranked<float>();
  for (std::uint32_t id = begin + threadIdx.x; id < end; id += kSampleThreads) {
    const float value = part[id - begin];
    if (row.values != nullptr) row.values[id] = value;
    if (value == -INFINITY) continue;
    const Ranked<float> mine = {value, int(id)};
    top = likelier(top, mine);
    if (is_allowed(row.allowed, id)) allowed_top = likelier(allowed_top, mine);
  }
  top = block_likeliest(top);
  allowed_top = block_likeliest(allowed_top);
  if (__syncthreads_or(int(bad)) != 0 && threadIdx.x == 0) atomicOr(&state.not_a_number, 1U);
  Ranked<float>* parts = scratch.row_parts + std::size_t{blockIdx.y} * scratch.parts * 2;
  if (threadIdx.x == 0) {
    parts[blockIdx.x * 2] = top;
    parts[blockIdx.x * 2 + 1] = allowed_top;
  }
  if (!is_last_block(&state.blocks_done, gridDim.x)) return;
  top = allowed_top = nothing_ranked<float>();
  for (std::uint32_t i = threadIdx.x; i < scratch.parts; i += kSampleThreads) {
    top = likelier(top, {__ldcg(&parts[i * 2].value), __ldcg(&parts[i * 2].id)});
    allowed_top = likelier(allowed_top, {__ldcg(&parts[i * 2 + 1].value), __ldcg(&parts[i * 2 + 1].id)});
  }
  top = block_likeliest(top);
  allowed_top = block_likeliest(allowed_top);
  if (threadIdx.x == 0) {
    state.top = top;
    state.allowed_top = allowed_top;
  }
}

/// The mass of a lane's tokens: of all logits, or (rest) of the values that the first walk left.
__global__ void __launch_bounds__(kSampleThreads)
    total_kernel(SampleCudaArgs args, SampleScratch scratch, bool rest) {
  begin_kernel();
  const SampleLaneCuda& lane = args.lanes[blockIdx.y];
  if (rest ? !lane.walks[1] : lane.form == LaneForm::kLogits) return;
  SampleLaneState& state = scratch.lanes[blockIdx.y];
  const SampleRowCuda& row = args.rows[lane.row];
  const LaneView view(lane, row, state, scratch.rows[lane.row]);
  const float top = rest ? view.top() : view.logit_top();
  const WalkEnd first = state.ends[0];
  const bool cut = rest && lane.walks[0];
  const std::uint32_t begin = blockIdx.x * kSamplePart;
  const std::uint32_t end = min(begin + kSamplePart, row.vocabulary);
  unsigned long long mass = 0;
  for (std::uint32_t id = begin + threadIdx.x; id < end; id += kSampleThreads) {
    if (!view.has(id)) continue;
    const float value = rest ? view.value(id) : view.logit(id);
    if (cut && !is_kept(first, rank_place(value, top, id))) continue;
    mass += integer_mass(double(value) - double(top));
  }
  mass = block_mass(mass);
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&state.mass), mass);
  if (!is_last_block(&state.blocks_done, gridDim.x) || threadIdx.x != 0) return;
  const std::uint64_t whole = __ldcg(reinterpret_cast<const unsigned long long*>(&state.mass));
  if (rest) {
    state.rest_total = double(top) + log_of_mass(whole);
  } else {
    state.total = double(top) + log_of_mass(whole);
    state.list_total = top + float(log_of_mass(whole));
  }
  state.mass = 0;
  state.blocks_done = 0;
  if (!rest && !lane.walks[0]) state.ends[0].keeps_all = 1;
  if (!lane.walks[1]) state.ends[1].keeps_all = 1;
}

/// Draws from a lane's tokens by adding noise to each, or lists them.
__global__ void __launch_bounds__(kSampleThreads) choose_kernel(SampleCudaArgs args, SampleScratch scratch) {
  begin_kernel();
  const SampleLaneCuda& lane = args.lanes[blockIdx.y];
  SampleLaneState& state = scratch.lanes[blockIdx.y];
  const SampleRowCuda& row = args.rows[lane.row];
  const LaneView view(lane, row, state, scratch.rows[lane.row]);
  const bool cut = lane.form != LaneForm::kLogits;
  const float top = view.top();
  const float floor = top + lane.floor_below_top;
  const WalkEnd ends[2] = {state.ends[0], state.ends[1]};
  const std::uint32_t begin = blockIdx.x * kSamplePart;
  const std::uint32_t end = min(begin + kSamplePart, row.vocabulary);
  Ranked<double> best = nothing_ranked<double>();
  for (std::uint32_t id = begin + threadIdx.x; id < end; id += kSampleThreads) {
    if (!view.has(id)) continue;
    const float value = view.value(id);
    if (cut) {
      const RankPlace place = rank_place(value, top, id);
      if (!is_kept(ends[0], place) || !is_kept(ends[1], place) || value < floor) continue;
    }
    if (lane.draws) {
      const std::uint32_t word = random_word(lane.seed, id / 4, lane.position, lane.choice, id % 4);
      const double scaled = double(value / lane.draw_divisor) / lane.temperature;
      best = likelier(best, {scaled + gumbel_noise(word), int(id)});
    } else {
      const std::uint32_t at = atomicAdd(&state.listed, 1U);
      if (at < lane.list_capacity) args.lists[row.list_begin + at] = {int(id), value};
    }
  }
  if (!lane.draws) return;
  best = block_likeliest(best);
  Ranked<double>* parts = scratch.lane_parts + std::size_t{blockIdx.y} * scratch.parts;
  if (threadIdx.x == 0) parts[blockIdx.x] = best;
  if (!is_last_block(&state.blocks_done, gridDim.x)) return;
  best = nothing_ranked<double>();
  for (std::uint32_t i = threadIdx.x; i < scratch.parts; i += kSampleThreads)
    best = likelier(best, {__ldcg(&parts[i].value), __ldcg(&parts[i].id)});
  best = block_likeliest(best);
  if (threadIdx.x == 0) state.drawn = best.id;
}

__global__ void report_kernel(SampleCudaArgs args, SampleScratch scratch) {
  begin_kernel();
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= args.row_count) return;
  const SampleRowCuda& row = args.rows[index];
  const SampleRowState& state = scratch.rows[index];
  SampledToken token;
  token.not_a_number = state.not_a_number;
  token.none_left = state.allowed_top.value == -INFINITY ? 1 : 0;
  token.id = row.given >= 0     ? row.given
             : row.chooser >= 0 ? scratch.lanes[row.chooser].drawn
                                : state.allowed_top.id;
  if (row.lister >= 0 && std::uint32_t(token.id) < args.columns) {
    const SampleLaneState& lister = scratch.lanes[row.lister];
    token.logprob = row.values[token.id] - lister.list_total;
    token.listed = min(lister.listed, args.lanes[row.lister].list_capacity);
  }
  args.tokens[index] = token;
}

std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

std::size_t state_bytes(std::uint32_t rows, std::uint32_t lanes) {
  return aligned(rows * sizeof(SampleRowState)) + aligned(lanes * sizeof(SampleLaneState));
}

}  // namespace

std::size_t sample_cuda_scratch_bytes(std::uint32_t row_count, std::uint32_t lane_count,
                                      std::uint32_t columns) {
  const std::size_t parts = blocks_for(columns, kSamplePart);
  return state_bytes(row_count, lane_count) + aligned(row_count * parts * 2 * sizeof(Ranked<float>)) +
         lane_count * parts * sizeof(Ranked<double>);
}

void sample_cuda(CudaQueue& queue, const SampleCudaArgs& args) {
  auto* bytes = static_cast<std::byte*>(args.scratch);
  SampleScratch scratch{};
  scratch.parts = blocks_for(args.columns, kSamplePart);
  scratch.rows = reinterpret_cast<SampleRowState*>(bytes);
  scratch.lanes =
      reinterpret_cast<SampleLaneState*>(bytes + aligned(args.row_count * sizeof(SampleRowState)));
  bytes += state_bytes(args.row_count, args.lane_count);
  scratch.row_parts = reinterpret_cast<Ranked<float>*>(bytes);
  bytes += aligned(std::size_t{args.row_count} * scratch.parts * 2 * sizeof(Ranked<float>));
  scratch.lane_parts = reinterpret_cast<Ranked<double>*>(bytes);

  const std::size_t words = state_bytes(args.row_count, args.lane_count) / sizeof(std::uint32_t);
  constexpr std::uint32_t kClearBlocks = 64;
  queue.launch(clear_kernel, {std::min(blocks_for(words, kSampleThreads), kClearBlocks)}, {kSampleThreads},
               static_cast<std::uint32_t*>(args.scratch), words);
  queue.launch(edit_kernel, {scratch.parts, args.row_count}, {kSampleThreads}, args, scratch);
  if (args.lane_count > 0) {
    const Grid lanes = {scratch.parts, args.lane_count};
    queue.launch(total_kernel, lanes, {kSampleThreads}, args, scratch, false);
    if (args.walks[0]) launch_walk(queue, args, scratch, 0);
    if (args.walks[1]) {
      queue.launch(total_kernel, lanes, {kSampleThreads}, args, scratch, true);
      launch_walk(queue, args, scratch, 1);
    }
    queue.launch(choose_kernel, lanes, {kSampleThreads}, args, scratch);
  }
  queue.launch(report_kernel, {blocks_for(args.row_count, kSampleThreads)}, {kSampleThreads}, args, scratch);
}

}  // namespace lanner::kernels
