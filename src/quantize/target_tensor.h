// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "io/tensor_entry.h"

namespace lanner::quantize {

/// Which part of the model a tensor belongs to.
enum class Part : std::uint8_t {
  kText,   ///< the language model
  kMtp,    ///< multi-token prediction head
  kTower,  ///< vision or audio encoder and its projections: copied as stored
};

/// What happens to the elements on the way.
enum class Change : std::uint8_t {
  kNone,
  kAddOne,        ///< norm gains stored as gain - 1
  kChannelsLast,  ///< convolution kernels: axis 1 moves to the end
};

/// A tensor of the MLX folder before quantization: its bytes are the pieces, one after the other.
struct TargetTensor {
  std::string name;
  Shape shape;  ///< after the change
  Part part = Part::kText;
  Change change = Change::kNone;
  const io::TensorEntry* source = nullptr;  ///< of the first piece: dtype of all, name for messages
  std::vector<std::span<const std::byte>> pieces;
};

}  // namespace lanner::quantize
