// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/queue.h"
#include "kernels/linear/linear.cuda.h"

namespace lanner::kernels {

/// The contract of router.h on device memory, then weights times expert_scale of the chosen when that is
/// given, and a shared expert behind them.
struct RouteCudaArgs {
  std::int32_t* experts = nullptr;  ///< [rows, choice.per_row()]
  float* weights = nullptr;         ///< likewise
  ExpertLogitsCuda choice;
  std::size_t rows = 0;
};
void route_cuda(CudaQueue& queue, const RouteCudaArgs& args);
/// Both at once, of as many rows.
void route_and_split_cuda(CudaQueue& queue, const RouteCudaArgs& args, const SplitRowsCudaArgs& rows);

/// Puts the (row, slot) pairs of each expert side by side: pair p stands at place[p], source[place[p]] is its
/// row. Experts follow each other, begin at multiples of 8 places and are cut into tiles.
struct GroupPairsCudaArgs {
  const std::int32_t* experts = nullptr;  ///< [pairs], each below 1024
  std::uint32_t* place = nullptr;         ///< [pairs]
  std::uint32_t* source = nullptr;        ///< [grouped_places()]
  ExpertTile* tiles = nullptr;            ///< [grouped_tiles()]
  std::uint32_t* used = nullptr;          ///< how many tiles there are
  std::size_t pairs = 0;
  std::uint32_t per_row = 1;
  std::uint32_t tile_rows = 8;  ///< a multiple of 8
};
void group_pairs_cuda(CudaQueue& queue, const GroupPairsCudaArgs& args);
/// Places that any routing of these pairs needs at most.
std::size_t grouped_places(std::size_t pairs, std::size_t n_experts);
std::size_t grouped_tiles(std::size_t pairs, std::size_t n_experts, std::size_t tile_rows);

/// out[t] = residual[t] + sum_k weights[t,k] * y[place[t*K + k]], k ascending; y rows of `columns`.
struct CombineExpertsCudaArgs {
  float* out = nullptr;
  const float* residual = nullptr;  ///< nullptr: none
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
