// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "device/matrix.h"
#include "layers/step.h"

namespace lanner::layers {

/// A table of rows by token id, read in its stored format; a tied head multiplies by the same matrix.
struct Embedding {
  device::Matrix table;  ///< [vocabulary, D]
  float scale = 1;       ///< multiplies looked-up rows, never the head

  /// ids [T] → [T, D]. Throws Error kInvalidArgument for an id outside the table.
  Tensor operator()(Step& step, std::span<const TokenId> ids) const;
};

}  // namespace lanner::layers
