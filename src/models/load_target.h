// SPDX-License-Identifier: MIT
#pragma once

#include "core/thread_pool.h"
#include "device/ops.h"

namespace lanner::models {

/// What a model is loaded for.
struct LoadTarget {
  const device::Ops& ops;
  device::Compute compute = device::Compute::kExact;
  ThreadPool& pool;  ///< interleaves weights; not kept
};

}  // namespace lanner::models
