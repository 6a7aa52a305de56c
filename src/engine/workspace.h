// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "cache/layer_spec.h"
#include "device/ops.h"
#include "models/model.h"

namespace lanner::engine {

/// The largest step that an engine usually runs.
struct StepShape {
  std::size_t rows = 512;
  std::size_t wanted = 1;   ///< rows whose logits are formed
  std::size_t context = 1;  ///< positions of the longest sequence
  int threads = 1;
};

/// What a step takes beside weights and caches.
struct Workspace {
  std::size_t forward_bytes = 0;    ///< activations, at their most
  std::size_t kept_bytes = 0;       ///< of them, what is still there when logits are formed
  std::size_t logit_row_bytes = 0;  ///< of each row whose logits are formed
  std::size_t scratch_bytes = 0;    ///< of the threads

  /// Bytes of the step's arena when `wanted` rows get logits.
  std::size_t arena_bytes(std::size_t wanted) const;
  std::size_t bytes(std::size_t wanted) const { return arena_bytes(wanted) + scratch_bytes; }
};

/// Found by running the model's forward with operations that compute nothing. Scratch of a GPU's operations
/// is not in it.
Workspace plan_workspace(const models::Model& model, const device::Ops& ops, const cache::CacheSpec& spec,
                         const StepShape& shape);

}  // namespace lanner::engine
