// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/json.h"
#include "quantize/quant_format.h"

namespace lanner::synthetic {

struct SyntheticOptions {
  std::string name;                  ///< what the card calls it: a preset, or a path
  io::Json config;                   ///< config.json of the size wanted
  std::filesystem::path output;      ///< must not exist, or be empty
  std::filesystem::path text_parts;  ///< a folder of the same family whose tokenizer and templates are copied
  std::optional<quantize::QuantFormat> format = quantize::QuantFormat();  ///< nullopt: bf16
  std::uint64_t seed = 0;
  std::uint64_t max_shard_bytes = 5'000'000'000;
};

struct SyntheticReport {
  std::uint64_t size_bytes = 0;
  std::uint64_t parameters = 0;
  std::size_t shards = 0;
};

/// True for the family of Gemma 4's model_types, false for Qwen 3.5's. Throws Error kUnsupported for others.
bool is_gemma4(const io::Json& config);

/// Writes a folder of random weights with the names, shapes and layout of an MLX conversion of the text
/// model. Nothing larger than a few pieces is held in memory. `progress` is told bytes done of bytes in all;
/// it may be empty and may throw. Throws Error for a config no model can have, a format that does not exist,
/// and kIo.
SyntheticReport write_synthetic_folder(const SyntheticOptions& options,
                                       const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace lanner::synthetic
