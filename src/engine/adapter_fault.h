// SPDX-License-Identifier: MIT
#pragma once

#include "core/error.h"
#include "engine/adapter_set.h"
#include "engine/sampler.h"

namespace lanner::engine {

/// What is wrong when a model's numbers are not finite with adapters: factors that are finite may still be
/// too large for what the model multiplies them with.
Error broken_by(const AdapterSet& adapters);

/// Runs `work`; numbers that are not finite are the adapters' fault, where there are some.
template <typename Work>
auto blaming(const AdapterSet* adapters, const Work& work) {
  try {
    return work();
  } catch (const NotFinite&) {
    if (adapters == nullptr) throw;
    throw broken_by(*adapters);
  }
}

}  // namespace lanner::engine
