// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "engine/event.h"

namespace lanner::engine {

class Sequence;

/// The exception that is being handled, as the request of `sequence` is told it.
Failure current_fault(const Sequence& sequence);

/// What goes wrong with one sequence alone; nothing when `use` returns.
template <typename Use>
std::optional<Failure> fault_of(const Sequence& sequence, Use&& use) {
  try {
    use();
  } catch (...) {
    return current_fault(sequence);
  }
  return std::nullopt;
}

}  // namespace lanner::engine
