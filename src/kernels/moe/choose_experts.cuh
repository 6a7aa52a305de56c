// SPDX-License-Identifier: MIT
// For .cu files: a warp chooses a row's experts, to the same ones wherever it is done.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/linear/linear.cuda.h"

namespace lanner::kernels {

/// The largest logits of a row, one after the other; ties go to the lower id, what is not a number comes
/// last. A warp's.
class Ranking {
 public:
  __device__ Ranking(const float* logits, unsigned count) : logits_(logits), count_(count) {
#pragma unroll
    for (unsigned j = 0; j < kHeld; ++j) {
      const unsigned id = threadIdx.x % 32 + j * 32;
      held_[j] = id < count ? key_of(__ldcg(logits + id)) : 0;
    }
  }

  /// Id of the next, beyond all of them where none is left.
  __device__ unsigned next() {
    unsigned largest = 0;
#pragma unroll
    for (unsigned j = 0; j < kHeld; ++j) largest = max(largest, held_[j]);
    unsigned rest_id = kNone;  // of the logits that are not held
    for (unsigned id = threadIdx.x % 32 + kHeld * 32; id < count_; id += 32) {
      const unsigned key = key_of(__ldcg(logits_ + id));
      const bool later = key < last_ || (key == last_ && id > last_id_);
      if (!later || key <= largest) continue;
      largest = key;
      rest_id = id;
    }
    const unsigned best = __reduce_max_sync(0xffffffffU, largest);
    unsigned id = best == largest ? rest_id : kNone;
#pragma unroll
    for (unsigned j = kHeld; j-- > 0;)
      if (held_[j] == best) id = threadIdx.x % 32 + j * 32;
    id = best == 0 ? kNone : __reduce_min_sync(0xffffffffU, id);
#pragma unroll
    for (unsigned j = 0; j < kHeld; ++j)
      if (id == threadIdx.x % 32 + j * 32) held_[j] = 0;
    last_ = best;
    last_id_ = id;
    return id;
  }

 private:
  static constexpr unsigned kHeld = 8;  // of a lane in registers: 256 experts
  static constexpr unsigned kNone = 0xffffffffU;

  /// Ascends with the number; 0 for what is none.
  __device__ static unsigned key_of(float logit) {
    const unsigned bits = __float_as_uint(logit + 0.0F);  // one zero
    if (isnan(logit)) return 0;
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
  }

  const float* logits_;
  unsigned count_;
  unsigned held_[kHeld];
  unsigned last_ = kNone;
  unsigned last_id_ = 0;
};

/// What a lane knows of a row's experts: lane i < k the i-th largest.
struct ChosenExpert {
  bool any = false;
  unsigned id = 0;
  unsigned place = 0;  ///< in ascending order of ids

  /// By a whole warp.
  __device__ ChosenExpert(const float* logits, unsigned count, unsigned k) : any(threadIdx.x % 32 < k) {
    Ranking ranking(logits, count);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned slot = 0; slot < k; ++slot) {
      const unsigned next = min(ranking.next(), count - 1);  // none is left of a row of NaN
      if (lane == slot) id = next;
    }
    for (unsigned i = 0; i < k; ++i) {
      const unsigned other = __shfl_sync(0xffffffffU, id, i);
      place += other < id || (other == id && i < lane) ? 1U : 0U;
    }
  }

  /// Its share of e^logit of all that were chosen, in double, summed in ascending order of ids. By a whole
  /// warp.
  __device__ float weight(const float* logits, unsigned k) const {
    const double logit = any ? double(__ldcg(logits + id)) : 0.0;
    const double largest = __shfl_sync(0xffffffffU, logit, 0);
    const double power = any ? exp(logit - largest) : 0.0;
    double sum = 0;
    for (unsigned i = 0; i < k; ++i) {
      const unsigned holder = __ffs(__ballot_sync(0xffffffffU, any && place == i)) - 1;
      sum += __shfl_sync(0xffffffffU, power, holder);
    }
    return float(power / sum);
  }
};

/// Calls use(slot, expert, weight) for the experts of row `row`, each in one lane of a warp.
template <typename Use>
__device__ inline void choose_experts(const ExpertLogitsCuda& from, std::size_t row, Use&& use) {
  const float* logits = from.logits + row * from.n_experts;
  const ChosenExpert chosen(logits, from.n_experts, from.k);
  const float share = chosen.weight(logits, from.k);
  if (chosen.any)
    use(chosen.place, chosen.id, from.expert_scale == nullptr ? share : share * from.expert_scale[chosen.id]);
  if (from.shared_gate != nullptr && threadIdx.x % 32 == 0)
    use(from.k, from.n_experts, 1.0F / (1.0F + expf(-__ldcg(from.shared_gate + row))));
}

}  // namespace lanner::kernels
