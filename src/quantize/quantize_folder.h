// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quantize/bit_rules.h"

namespace lanner::quantize {

/// What `lanner quantize IN OUT` is asked to do.
struct QuantizeOptions {
  std::filesystem::path input;   ///< checkpoint folder in bf16, f16 or f32
  std::filesystem::path output;  ///< must not exist, or be an empty folder
  QuantFormat format;            ///< of every module without another rule
  std::vector<BitOverride> overrides;
  std::uint64_t max_shard_bytes = 5'000'000'000;
  int threads = 1;
};

/// How far the work is.
struct QuantizeProgress {
  std::uint64_t done_bytes = 0;  ///< of the source's tensors
  std::uint64_t total_bytes = 0;
  std::string tensor;  ///< being worked on, MLX name
};

/// Told about progress, many times a second, on the calling thread.
using QuantizeProgressFn = std::function<void(const QuantizeProgress&)>;

/// What came of it.
struct QuantizeReport {
  std::uint64_t source_bytes = 0;
  std::uint64_t output_bytes = 0;  ///< of all tensors
  std::uint64_t module_elements = 0;
  std::uint64_t module_bytes = 0;       ///< output bytes of the quantizable modules
  std::map<std::string, int> formats;   ///< "affine 4-bit group 64" or "bf16" → modules
  std::vector<std::string> kept_dense;  ///< modules left in floating point
  std::vector<std::string> files;       ///< written, by name
  /// Average bits per weight over the quantizable modules, scales included.
  double bits_per_weight() const {
    return module_elements == 0 ? 0 : 8.0 * double(module_bytes) / double(module_elements);
  }
};

/// Writes an MLX-format folder that mlx-lm loads: packed weights, shards with an index, config.json with the
/// `quantization` block under both names, and the tokenizer, template and other small files of the source.
/// MTP weights are kept as mtp.*, their norm gains shifted like the trunk's; mlx-lm ignores them. Everything
/// is written to a temporary folder beside `output` and renamed at the end: on any error nothing is left.
/// Throws Error: kInvalidArgument (options, output in use or the same as input), kUnsupported (quantized or
/// other source), kCorrupt (NaN or infinity, contradictions), kIo (full disk, permissions).
QuantizeReport quantize_folder(const QuantizeOptions& options, const QuantizeProgressFn& progress = {});

}  // namespace lanner::quantize
