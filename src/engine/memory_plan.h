// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/sequence_memory.h"
#include "engine/workspace.h"
#include "models/model.h"

namespace lanner::engine {

/// What running a model takes, from the shapes of its weights and layers: admission, `lanner fit` and GET
/// /fit go by it. The program itself, its tokenizer and pages of files beyond `weights` are not in it.
class MemoryPlan {
 public:
  /// shape: the largest usual step of one of shape.wanted sequences.
  MemoryPlan(const models::Model& model, const device::Ops& ops, const cache::CacheSpec& spec,
             const StepShape& shape);

  const models::WeightMemory& weights() const { return weights_; }
  const Workspace& workspace() const { return workspace_; }
  const SequenceMemory& sequence() const { return sequence_; }
  /// Weights that are read in every step.
  std::size_t weight_bytes() const { return weights_.owned_bytes + weights_.mapped_bytes; }
  /// What steps take beside weights and the caches that sequences keep.
  std::size_t step_bytes(std::size_t users) const;
  /// Everything, with `users` sequences of `tokens` tokens each.
  std::size_t total_bytes(std::size_t users, std::size_t tokens) const;
  /// The longest sequences that `users` can have at once in `budget` bytes, at most `context`; 0 = not even
  /// the weights fit.
  std::size_t max_context(std::size_t users, std::size_t budget, std::size_t context) const;
  /// How many sequences of `tokens` tokens `budget` bytes hold.
  std::size_t max_users(std::size_t tokens, std::size_t budget) const;

 private:
  models::WeightMemory weights_;
  Workspace workspace_;
  SequenceMemory sequence_;
  std::size_t step_rows_;
};

/// Memory that a model may take where it runs: most of what is available now on this machine, less what the
/// control group denies; on a GPU, of what its memory has free.
std::size_t usable_bytes(const device::Ops& ops);

}  // namespace lanner::engine
