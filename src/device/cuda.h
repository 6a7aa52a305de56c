// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/ops.h"

namespace lanner::device {

/// A GPU of this machine as a user sees it.
struct CudaCard {
  int index = 0;
  std::string name;
  int compute_capability = 0;  ///< 90 for 9.0
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;
};

/// True when this program has kernels for GPUs.
bool built_with_cuda();
/// The GPUs the driver shows; empty without a driver, with one too old, or without kernels in this program.
std::vector<CudaCard> cuda_cards();
/// What is free of a device's own memory now, kept blocks that nobody uses included, and all of it.
struct DeviceMemory {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};
/// Nothing for a CPU, and when a GPU does not answer. May be called from any thread.
std::optional<DeviceMemory> device_memory(const Ops& ops);
/// The operations on GPU `index`; it stays open until the program ends, unless it is lost: then it is reset
/// and opened anew, and what others still have there is gone. Throws Error kUnsupported, naming the reason:
/// no kernels in this program, no driver, a driver too old, no such card, or a card older than compute
/// capability 8.0.
Ops cuda_ops(int index);

}  // namespace lanner::device
