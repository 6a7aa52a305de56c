// SPDX-License-Identifier: MIT
// For .cu files: what the kernels of one choice hand to each other.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/portable_math.h"
#include "kernels/cuda/device.cuh"
#include "kernels/sampling/sampling.cuda.h"

namespace lanner::kernels {

inline constexpr std::uint32_t kSampleThreads = 256;

/// A token and what it is worth; likelier means a larger value, or a lower id among equals.
template <typename Value>
struct Ranked {
  Value value;
  std::int32_t id;
};
template <typename Value>
__device__ inline Ranked<Value> likelier(const Ranked<Value>& a, const Ranked<Value>& b) {
  return b.value > a.value || (b.value == a.value && b.id < a.id) ? b : a;
}
template <typename Value>
__device__ inline Ranked<Value> nothing_ranked() {
  return {-INFINITY, 0x7fffffff};
}

/// The likeliest of a block; every thread gets it.
template <typename Value>
__device__ inline Ranked<Value> block_likeliest(Ranked<Value> mine) {
  __shared__ Ranked<Value> warps[kSampleThreads / 32];
  const auto join = [&] {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      mine = likelier(mine, {__shfl_xor_sync(0xffffffffU, mine.value, offset),
                             __shfl_xor_sync(0xffffffffU, mine.id, offset)});
  };
  join();
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = threadIdx.x % 32 < kSampleThreads / 32 ? warps[threadIdx.x % 32] : nothing_ranked<Value>();
  join();
  return mine;
}

/// Of a row: the likeliest of all tokens and of the allowed ones.
struct SampleRowState {
  std::uint32_t blocks_done;
  std::uint32_t not_a_number;
  Ranked<float> top;
  Ranked<float> allowed_top;
};

/// Where a walk down the ranking ends: with this token, the last to be kept. A token's place is its bucket
/// (distance from the likeliest value), its value as an ordered integer, its id.
struct WalkEnd {
  std::uint32_t keeps_all;
  std::uint32_t bucket;
  std::uint32_t key;
  std::uint32_t id;
  std::uint32_t count_before;
  std::uint64_t mass_before;
};

struct SampleLaneState {
  std::uint32_t blocks_done;
  std::uint32_t listed;
  std::int32_t drawn;
  float list_total;    ///< ln of the sum of exp of all edited logits, as a float
  double total;        ///< the same of what may be chosen
  double rest_total;   ///< ln of the sum of exp of the values the first walk left
  std::uint64_t mass;  ///< being added up
  WalkEnd ends[2];
  std::uint32_t bucket_counts[kWalkBuckets];
  unsigned long long bucket_masses[kWalkBuckets];
};

/// Memory of one choice, in this order.
struct SampleScratch {
  SampleRowState* rows;
  SampleLaneState* lanes;
  Ranked<float>* row_parts;    ///< [rows, parts, 2]
  Ranked<double>* lane_parts;  ///< [lanes, parts]
  std::uint32_t parts;
};

/// True in the block of a row or lane that is done last; it sees what the others wrote.
__device__ inline bool is_last_block(std::uint32_t* blocks_done, std::uint32_t blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(blocks_done, 1U) == blocks - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

__device__ inline bool is_allowed(const std::uint64_t* allowed, std::uint32_t id) {
  return allowed == nullptr || (allowed[id / 64] >> (id % 64) & 1U) != 0;
}

/// What a lane sees of a row: values as it ranks them, nothing of what is banned.
class LaneView {
 public:
  __device__ LaneView(const SampleLaneCuda& lane, const SampleRowCuda& row, const SampleLaneState& state,
                      const SampleRowState& row_state)
      : lane_(lane),
        values_(row.values),
        allowed_(lane.draws ? row.allowed : nullptr),
        total_(state.total),
        list_total_(state.list_total),
        logit_top_(lane.draws ? row_state.allowed_top.value : row_state.top.value) {}

  __device__ bool has(std::uint32_t id) const { return is_allowed(allowed_, id) && values_[id] != -INFINITY; }
  __device__ float logit(std::uint32_t id) const { return values_[id]; }
  __device__ float logit_top() const { return logit_top_; }
  __device__ float value(std::uint32_t id) const { return value_of(values_[id]); }
  __device__ float top() const { return value_of(logit_top_); }

 private:
  __device__ float value_of(float logit) const {
    if (lane_.form == LaneForm::kLogProbabilities) return float(double(logit) - total_) / lane_.stage_divisor;
    if (lane_.form == LaneForm::kListed) return logit - list_total_;
    return logit;
  }

  const SampleLaneCuda& lane_;
  const float* values_;
  const std::uint64_t* allowed_;
  double total_;
  float list_total_;
  float logit_top_;
};

/// A token's place in the ranking; see WalkEnd.
struct RankPlace {
  std::uint32_t bucket;
  std::uint32_t key;
  std::uint32_t id;
};
__device__ inline RankPlace rank_place(float value, float top, std::uint32_t id) {
  constexpr float kBucketsPerNat = 64;
  const float distance = (top - value) * kBucketsPerNat;
  const std::uint32_t bucket =
      distance < float(kWalkBuckets - 1) ? std::uint32_t(distance) : kWalkBuckets - 1;
  const std::uint32_t bits = __float_as_uint(value == 0 ? 0.0F : value);
  return {bucket, (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U, id};
}
/// True where the walk kept a token.
__device__ inline bool is_kept(const WalkEnd& end, const RankPlace& place) {
  if (end.keeps_all != 0) return true;
  if (place.bucket != end.bucket) return place.bucket < end.bucket;
  if (place.key != end.key) return place.key > end.key;
  return place.id <= end.id;
}

void launch_walk(CudaQueue& queue, const SampleCudaArgs& args, const SampleScratch& scratch, int walk);

}  // namespace lanner::kernels
