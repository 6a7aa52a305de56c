// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/queue.h"
#include "kernels/sampling/logit_edit.h"

/// Choosing tokens from logits on a GPU: to the bit what engine/sampler.h does on the host. All arrays lie in
/// device memory. batch-invariant: yes.
namespace lanner::kernels {

/// Logits that a block looks at.
inline constexpr std::uint32_t kSamplePart = 4096;
/// Buckets into which a step of a walk sorts.
inline constexpr std::uint32_t kWalkBuckets = 2048;

/// A row of logits on its way to one choice.
struct SampleRowCuda {
  const float* logits = nullptr;           ///< [columns]
  float* values = nullptr;                 ///< [columns], edited; null: nothing but the largest is wanted
  const std::uint64_t* allowed = nullptr;  ///< one bit for each id; null = all
  const LogitEdit* edits = nullptr;        ///< ascending by id, each id once
  std::uint32_t edit_count = 0;
  std::uint32_t vocabulary = 0;  ///< ids at or above have no token
  std::int32_t chooser = -1;     ///< lane that draws; none: the likeliest
  std::int32_t lister = -1;      ///< lane that lists; none: no log-probabilities
  std::int32_t given = -1;       ///< the token, chosen already
  std::uint32_t list_begin = 0;  ///< of its list among all
};

/// What values a lane ranks tokens by.
enum class LaneForm : std::uint8_t {
  kLogits,            ///< as they are
  kLogProbabilities,  ///< over what may be chosen, in double, then rounded, then divided by stage_divisor
  kListed,            ///< over all edited logits, in float
};

/// One way through a row's tokens, likeliest first: to those a draw is among, or to a list of the likeliest.
struct SampleLaneCuda {
  std::uint32_t row = 0;  ///< index of its SampleRowCuda
  LaneForm form = LaneForm::kLogits;
  bool draws = false;  ///< else lists
  /// The shortest beginning of the ranking with this many tokens or this much mass, twice; the second time of
  /// what the first left, whose mass is 1 then.
  std::uint32_t counts[2] = {};
  std::uint64_t masses[2] = {};
  bool walks[2] = {};
  float floor_below_top = 0;  ///< added to the likeliest value: lower ones drop out; -infinity = none
  float stage_divisor = 1;
  float draw_divisor = 1;  ///< of values, in float, for the draw
  double temperature = 1;  ///< of the draw, in double
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::uint32_t position = 0;
  std::uint32_t list_capacity = 0;
};

struct SampledToken {
  std::int32_t id = -1;
  std::uint32_t not_a_number = 0;
  std::uint32_t none_left = 0;  ///< every token is banned
  float logprob = 0;            ///< of the token, where there is a lister
  std::uint32_t listed = 0;     ///< entries of its list
};
struct ListedToken {
  std::int32_t id = 0;
  float logprob = 0;
};

struct SampleCudaArgs {
  const SampleRowCuda* rows = nullptr;
  std::uint32_t row_count = 0;
  const SampleLaneCuda* lanes = nullptr;
  std::uint32_t lane_count = 0;
  std::uint32_t columns = 0;
  bool walks[2] = {};  ///< some lane does
  void* scratch = nullptr;
  SampledToken* tokens = nullptr;  ///< [rows]
  ListedToken* lists = nullptr;    ///< in no order
};

std::size_t sample_cuda_scratch_bytes(std::uint32_t row_count, std::uint32_t lane_count,
                                      std::uint32_t columns);
void sample_cuda(CudaQueue& queue, const SampleCudaArgs& args);

}  // namespace lanner::kernels
