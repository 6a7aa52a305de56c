// SPDX-License-Identifier: MIT
// Finds where a ranking is cut: digit by digit of a token's place, from histograms of counts and masses. Sums
// are of integers, so that no order of adding them matters.
#include "kernels/sampling/sample_state.cuh"

namespace lanner::kernels {
namespace {

constexpr int kDigits = 6;
constexpr std::uint32_t kBucketsPerThread = kWalkBuckets / kSampleThreads;

/// The digit of a place, ascending from likely to unlikely.
__device__ std::uint32_t digit_of(const RankPlace& place, int digit) {
  switch (digit) {
    case 0:
      return place.bucket;
    case 1:
      return 2047 - (place.key >> 21);
    case 2:
      return 2047 - (place.key >> 10 & 2047);
    case 3:
      return 1023 - (place.key & 1023);
    case 4:
      return place.id >> 11;
    default:
      return place.id & 2047;
  }
}

/// True when the digits before this one are those of the end.
__device__ bool follows(const WalkEnd& end, const RankPlace& place, int digit) {
  if (digit > 0 && place.bucket != end.bucket) return false;
  if (digit > 1 && (place.key ^ end.key) >> 21 != 0) return false;
  if (digit > 2 && (place.key ^ end.key) >> 10 != 0) return false;
  if (digit > 3 && place.key != end.key) return false;
  return digit <= 4 || (place.id ^ end.id) >> 11 == 0;
}

__device__ void set_digit(WalkEnd& end, int digit, std::uint32_t value) {
  switch (digit) {
    case 0:
      end.bucket = value;
      break;
    case 1:
      end.key = (2047 - value) << 21;
      break;
    case 2:
      end.key |= (2047 - value) << 10;
      break;
    case 3:
      end.key |= 1023 - value;
      break;
    case 4:
      end.id = value << 11;
      break;
    default:
      end.id |= value;
  }
}

/// Sum of the values of the threads before this one.
template <typename Value>
__device__ Value sum_before(Value mine) {
  __shared__ Value warps[kSampleThreads / 32];
  const unsigned lane = threadIdx.x % 32;
  Value sum = mine;
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const Value other = __shfl_up_sync(0xffffffffU, sum, offset);
    if (lane >= offset) sum += other;
  }
  if (lane == 31) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  for (unsigned warp = 0; warp < threadIdx.x / 32; ++warp) sum += warps[warp];
  __syncthreads();
  return sum - mine;
}

/// The bucket in which the target is reached becomes the end's digit; the buckets are cleared.
__device__ void take_digit(SampleLaneState& state, WalkEnd& end, int digit, std::uint32_t count_target,
                           std::uint64_t mass_target) {
  std::uint32_t counts[kBucketsPerThread];
  std::uint64_t masses[kBucketsPerThread];
  std::uint32_t count = 0;
  std::uint64_t mass = 0;
  for (std::uint32_t i = 0; i < kBucketsPerThread; ++i) {
    const std::uint32_t bucket = threadIdx.x * kBucketsPerThread + i;
    counts[i] = __ldcg(&state.bucket_counts[bucket]);
    masses[i] = __ldcg(&state.bucket_masses[bucket]);
    state.bucket_counts[bucket] = 0;
    state.bucket_masses[bucket] = 0;
    count += counts[i];
    mass += masses[i];
  }
  const std::uint32_t known_count = end.count_before;
  const std::uint64_t known_mass = end.mass_before;
  count = known_count + sum_before(count);
  mass = known_mass + sum_before(mass);
  const auto reached = [&] { return count > 0 && (count >= count_target || mass >= mass_target); };
  bool found = false;
  for (std::uint32_t i = 0; i < kBucketsPerThread && !reached(); ++i) {
    const std::uint32_t count_before = count;
    const std::uint64_t mass_before = mass;
    count += counts[i];
    mass += masses[i];
    if (!reached()) continue;
    found = true;
    set_digit(end, digit, threadIdx.x * kBucketsPerThread + i);
    end.count_before = count_before;
    end.mass_before = mass_before;
  }
  if (__syncthreads_or(int(found)) == 0 && threadIdx.x == 0) end.keeps_all = 1;
}

__global__ void __launch_bounds__(kSampleThreads)
    walk_kernel(SampleCudaArgs args, SampleScratch scratch, int walk, int digit) {
  begin_kernel();
  const SampleLaneCuda& lane = args.lanes[blockIdx.y];
  if (!lane.walks[walk]) return;
  SampleLaneState& state = scratch.lanes[blockIdx.y];
  WalkEnd& end = state.ends[walk];
  if (end.keeps_all != 0) return;
  __shared__ std::uint32_t counts[kWalkBuckets];
  __shared__ unsigned long long masses[kWalkBuckets];
  for (std::uint32_t i = threadIdx.x; i < kWalkBuckets; i += kSampleThreads) {
    counts[i] = 0;
    masses[i] = 0;
  }
  __syncthreads();
  const SampleRowCuda& row = args.rows[lane.row];
  const LaneView view(lane, row, state, scratch.rows[lane.row]);
  const float top = view.top();
  const WalkEnd so_far = end;
  const WalkEnd first = state.ends[0];
  const bool weighs = lane.masses[walk] != ~std::uint64_t{0};
  const double whole = walk == 1 ? state.rest_total : 0.0;
  const std::uint32_t begin = blockIdx.x * kSamplePart;
  const std::uint32_t stop = min(begin + kSamplePart, row.vocabulary);
  for (std::uint32_t id = begin + threadIdx.x; id < stop; id += kSampleThreads) {
    if (!view.has(id)) continue;
    const float value = view.value(id);
    const RankPlace place = rank_place(value, top, id);
    if (!follows(so_far, place, digit) || (walk == 1 && !is_kept(first, place))) continue;
    const std::uint32_t bucket = digit_of(place, digit);
    atomicAdd(&counts[bucket], 1U);
    if (!weighs) continue;
    const std::uint64_t mass = integer_mass(double(value) - whole);
    if (mass != 0) atomicAdd(&masses[bucket], static_cast<unsigned long long>(mass));
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < kWalkBuckets; i += kSampleThreads) {
    if (counts[i] == 0) continue;
    atomicAdd(&state.bucket_counts[i], counts[i]);
    if (masses[i] != 0) atomicAdd(&state.bucket_masses[i], masses[i]);
  }
  if (!is_last_block(&state.blocks_done, gridDim.x)) return;
  take_digit(state, end, digit, lane.counts[walk], lane.masses[walk]);
  if (threadIdx.x == 0) state.blocks_done = 0;
}

}  // namespace

void launch_walk(CudaQueue& queue, const SampleCudaArgs& args, const SampleScratch& scratch, int walk) {
  for (int digit = 0; digit < kDigits; ++digit)
    queue.launch(walk_kernel, {scratch.parts, args.lane_count}, {kSampleThreads}, args, scratch, walk, digit);
}

}  // namespace lanner::kernels
