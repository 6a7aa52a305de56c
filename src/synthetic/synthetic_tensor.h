// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "io/json.h"

namespace lanner::synthetic {

/// One tensor of a synthetic checkpoint: uniformly random between two bounds, a constant when they are equal.
struct SyntheticTensor {
  std::string name;    ///< in MLX's naming
  std::string module;  ///< name without ".weight" when the tensor may be quantized, else empty
  Shape shape;
  DType dtype = DType::kBF16;
  float low = 0;
  float high = 0;
};

/// The tensors of a model, named and shaped as in an MLX conversion of the release. `config` is a
/// config.json. Throws Error as the family's loader does for a config it cannot run.
std::vector<SyntheticTensor> gemma4_tensors(const io::Json& config);
std::vector<SyntheticTensor> qwen3_5_tensors(const io::Json& config);

}  // namespace lanner::synthetic
