// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "cache/layer_spec.h"
#include "device/roofline.h"
#include "models/model.h"

namespace lanner::engine {

/// Tokens per second.
struct PredictedSpeed {
  double decode = 0;  ///< of all sequences together
  double prompt = 0;  ///< of a prompt's first piece
};

/// What is to be predicted.
struct SpeedQuestion {
  std::size_t users = 1;
  std::size_t tokens = 0;  ///< that each sequence holds
  std::size_t chunk = 512;
  device::Compute compute = device::Compute::kInt8;
  Isa isa = Isa::kReference;
};

/// From what a forward has to read and to multiply, at the share of the machine's limits that is usually
/// reached.
PredictedSpeed predict_speed(const models::Model& model, const cache::CacheSpec& spec,
                             const device::Roofline& limits, const SpeedQuestion& question);

}  // namespace lanner::engine
