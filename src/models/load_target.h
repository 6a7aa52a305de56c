// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "core/thread_pool.h"
#include "device/ops.h"

namespace lanner::models {

/// What is done with the weights.
enum class WeightUse : std::uint8_t {
  kRun,   ///< a model that computes
  kPlan,  ///< one that tells what it would take: headers are read, no tensor is
};

/// Told how much of the weights is in place: 0 to 1, less where the folder holds parts that no step uses.
using LoadProgress = std::function<void(double share)>;

/// What a model is loaded for.
struct LoadTarget {
  const device::Ops& ops;
  device::Compute compute = device::Compute::kExact;
  ThreadPool& pool;  ///< interleaves weights; not kept
  WeightUse use = WeightUse::kRun;
  LoadProgress progress = {};
};

}  // namespace lanner::models
