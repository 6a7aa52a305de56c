// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "core/error.h"

namespace lanner::engine {

class Sequence;

/// The exception that is being handled, as the request of `sequence` is told it.
Error current_fault(const Sequence& sequence);

/// What goes wrong with one sequence alone; nothing when `use` returns.
template <typename Use>
std::optional<Error> fault_of(const Sequence& sequence, Use&& use) {
  try {
    use();
  } catch (...) {
    return current_fault(sequence);
  }
  return std::nullopt;
}

}  // namespace lanner::engine
