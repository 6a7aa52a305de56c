// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/thread_pool.h"
#include "device/ops.h"

namespace lanner::models {

/// What is done with the weights.
enum class WeightUse : std::uint8_t {
  kRun,   ///< a model that computes
  kPlan,  ///< one that tells what it would take: headers are read, no tensor is
};

/// What a model is loaded for.
struct LoadTarget {
  const device::Ops& ops;
  device::Compute compute = device::Compute::kExact;
  ThreadPool& pool;  ///< interleaves weights; not kept
  WeightUse use = WeightUse::kRun;
};

}  // namespace lanner::models
