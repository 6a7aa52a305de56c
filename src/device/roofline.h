// SPDX-License-Identifier: MIT
#pragma once

#include "core/cpu_features.h"
#include "core/thread_pool.h"

namespace lanner::device {

/// What the threads of a pool reach together, measured.
struct Roofline {
  double read_bytes_per_second = 0;
  double float_ops_per_second = 0;  ///< a multiply and an add are two
  double int8_ops_per_second = 0;
};

/// Takes about a second and 512 MB. Medians of several runs.
Roofline measure_roofline(Isa isa, ThreadPool& pool);

}  // namespace lanner::device
