// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/queue.h"

namespace lanner::kernels {

/// The contract of router.h on device memory, then weights times expert_scale of the chosen when that is
/// given.
struct RouteCudaArgs {
  std::int32_t* experts = nullptr;
  float* weights = nullptr;
  const float* logits = nullptr;
  const float* expert_scale = nullptr;
  std::size_t rows = 0;
  std::size_t n_experts = 0;
  std::size_t k = 0;  ///< at most 32
};
void route_cuda(CudaQueue& queue, const RouteCudaArgs& args);

/// Puts the (row, slot) pairs of each expert side by side: pair p of expert e stands at place[p], ranges of
/// experts begin at multiples of 8 places. begin [n_experts + 1], place [pairs]; rows of an expert keep their
/// order.
struct GroupPairsCudaArgs {
  const std::int32_t* experts = nullptr;
  std::uint32_t* begin = nullptr;   ///< first place of each expert
  std::uint32_t* counts = nullptr;  ///< pairs of each expert
  std::uint32_t* place = nullptr;
  std::uint32_t* active = nullptr;  ///< [n_experts + 1]: how many experts have rows, then which, ascending
  std::size_t pairs = 0;
  std::size_t n_experts = 0;  ///< at most 1024
};
void group_pairs_cuda(CudaQueue& queue, const GroupPairsCudaArgs& args);
/// Places that any routing of these pairs needs at most.
std::size_t grouped_places(std::size_t pairs, std::size_t n_experts);

/// out[t] = sum_k weights[t,k] * y[place[t*K + k]], k ascending; y rows of `columns`.
struct CombineExpertsCudaArgs {
  float* out = nullptr;
  const float* y = nullptr;
  const std::uint32_t* place = nullptr;
  const float* weights = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t k = 0;
};
void combine_experts_cuda(CudaQueue& queue, const CombineExpertsCudaArgs& args);

/// out[t] += w y[t] for the rows that chose `expert` with weight w.
struct AddChosenCudaArgs {
  float* out = nullptr;
  const float* y = nullptr;
  const std::int32_t* experts = nullptr;  ///< [rows, k]
  const float* weights = nullptr;         ///< [rows, k]
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t k = 0;
  std::int32_t expert = 0;
};
void add_chosen_cuda(CudaQueue& queue, const AddChosenCudaArgs& args);

}  // namespace lanner::kernels
