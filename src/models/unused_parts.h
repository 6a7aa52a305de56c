// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint.h"

namespace lanner::models {

/// Tensor names of one part of a checkpoint that the text model does not run.
struct KnownPart {
  std::string_view infix;  ///< found in the tensor's name
  std::string_view part;   ///< how `info` calls it
};

/// Names the parts that leftover tensors belong to, each once, in the order of `known`. Throws Error kCorrupt
/// for a leftover that belongs to none: a weight the model should have used means the wrong graph.
std::vector<std::string> name_unused_parts(std::span<const std::string> leftovers,
                                           std::span<const KnownPart> known,
                                           const io::Checkpoint& checkpoint);

}  // namespace lanner::models
