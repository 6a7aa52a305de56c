// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cache/layer_spec.h"
#include "io/fields.h"

namespace lanner::models::qwen3_5 {

enum class LayerType : std::uint8_t { kLinear, kFull };

/// Static YaRN, the card's long-context override.
struct YarnConfig {
  double factor = 1;
  double original_context = 0;
};

struct RopeParameters {
  double theta = 0;
  double partial_factor = 0.25;
  std::array<std::size_t, 3> mrope_section{};  ///< frequencies of time, height, width
  std::optional<YarnConfig> yarn;
};

struct MoeConfig {
  std::size_t experts = 0;
  std::size_t top_k = 0;
  std::size_t intermediate_size = 0;
  std::size_t shared_intermediate_size = 0;
};

/// The text part of a Qwen 3.5 or 3.6 config.json.
struct Config {
  std::string model_type;
  std::size_t vocabulary = 0;
  std::size_t hidden_size = 0;
  std::size_t intermediate_size = 0;  ///< dense models
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  float rms_norm_eps = 0;
  std::size_t context = 0;
  RopeParameters rope;
  std::vector<LayerType> layer_types;
  cache::RecurrentSpec delta_net;
  std::optional<MoeConfig> moe;
  bool tied_head = false;

  std::size_t rotary_pairs() const;
};

/// Reads config.json. Throws Error kCorrupt for missing, mistyped or contradictory fields (rope_theta is
/// never guessed), kUnsupported for features no released model uses.
Config read_config(const io::Fields& root);

}  // namespace lanner::models::qwen3_5
