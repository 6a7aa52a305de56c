// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/tensor.h"
#include "io/mapped_file.h"

namespace lanner::io {

/// A named tensor of a checkpoint. `bytes` lie in the mapped `file`, which every copy of the entry keeps
/// alive; they are row-major, little-endian, and may start at any address: use load_tensor() for typed
/// access.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;

  /// "model-00001-of-00002.safetensors", for messages.
  std::string file_name() const;
};

/// A tensor and whatever keeps its memory alive: a mapped file (read-only: writing to it faults) or a copy.
struct HeldTensor {
  Tensor tensor;
  std::shared_ptr<const void> owner;
};

/// The entry's values in place when their address is a multiple of `alignment_bytes`, else an aligned copy.
/// Kernels need at least the element's alignment, which is the default (0). A power of two up to 64.
HeldTensor load_tensor(const TensorEntry& entry, std::size_t alignment_bytes = 0);

/// Throws kCorrupt unless the entry has this shape:
///   FILE: tensor "NAME" has shape [512, 2560], expected [1024, 2560] (WHY)
/// `why` gives the config fields behind the expectation; empty leaves the parentheses out.
void expect_shape(const TensorEntry& entry, const Shape& expected, std::string_view why);

/// The error `FILE: tensor "NAME" PROBLEM`.
Error tensor_error(const TensorEntry& entry, std::string_view problem);

}  // namespace lanner::io
