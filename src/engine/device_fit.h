// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/loaded_model.h"

namespace lanner::engine {

/// What a model takes of a device before its first answer.
struct DeviceNeed {
  std::size_t load_bytes = 0;  ///< at most, while it is loaded: weights and what arranging them takes
  std::size_t step_bytes = 0;  ///< of one short sequence
  std::size_t total() const { return load_bytes + step_bytes; }
};

/// Found from headers and config alone.
DeviceNeed plan_device_need(const io::Checkpoint& checkpoint, const device::Ops& ops,
                            const LoadOptions& options);
/// Throws Error kOutOfMemory, naming what is needed and what is free, when that is less.
void require_device_memory(const DeviceNeed& need, std::string_view device, std::size_t free_bytes);

}  // namespace lanner::engine
