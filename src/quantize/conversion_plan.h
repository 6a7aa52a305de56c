// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint.h"
#include "io/safetensors_writer.h"
#include "quantize/bit_rules.h"
#include "quantize/target_tensor.h"

namespace lanner::quantize {

/// One tensor of the source on its way: written as `module`.weight, .scales and .biases, or as it is.
struct PlannedTensor {
  TargetTensor target;
  DType dtype = DType::kBF16;         ///< of the unquantized elements or of affine scales and biases
  std::string module;                 ///< name without ".weight"; empty for tensors that are no module
  std::optional<QuantFormat> format;  ///< nullopt: written unquantized
  std::size_t shard = 0;

  /// What the output file holds of it, in the order weight, scales, biases.
  std::vector<io::TensorDeclaration> declarations() const;
  std::uint64_t output_bytes() const;
  std::size_t columns() const { return static_cast<std::size_t>(target.shape.back()); }
};

/// Everything decided before the first byte is written.
struct ConversionPlan {
  std::vector<PlannedTensor> tensors;  ///< by shard, then by name
  std::size_t shards = 1;
  std::uint64_t source_bytes = 0;
  std::uint64_t output_bytes = 0;
  QuantFormat global;
  std::map<std::string, std::optional<QuantFormat>> listed;  ///< modules config.json must name
};

/// Maps names, decides formats and cuts shards of at most max_shard_bytes (a single larger module gets a
/// shard of its own). Floats become the dtype of the embedding table, but A_log and the towers keep theirs.
/// Throws Error kUnsupported for a source that is quantized already, kInvalidArgument for an override that
/// matches no module, and as map_to_mlx does.
ConversionPlan plan_conversion(const io::Checkpoint& checkpoint, BitRules rules,
                               std::uint64_t max_shard_bytes);

}  // namespace lanner::quantize
