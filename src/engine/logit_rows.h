// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lanner::engine {

/// Rows of logits formed at once where all are wanted: a whole chunk of them would be gigabytes for a
/// vocabulary of 262144.
inline constexpr std::size_t kLogitRows = 16;

}  // namespace lanner::engine
