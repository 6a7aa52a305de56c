// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/fields.h"

namespace lanner::models::gemma4 {

enum class LayerType : std::uint8_t { kSliding, kFull };

/// Rotary parameters of one layer type.
struct RopeParameters {
  double theta = 0;
  double partial_factor = 1;  ///< share of the head's pairs that turn ("proportional")
  double factor = 1;          ///< divides the frequencies
};

/// Routed experts beside the dense branch (26B-A4B).
struct MoeConfig {
  std::size_t experts = 0;
  std::size_t top_k = 0;
  std::size_t intermediate_size = 0;
};

/// The text part of a Gemma 4 config.json. Missing fields take the defaults of Gemma4TextConfig,
/// transformers 5.17.
struct Config {
  std::string model_type;
  std::size_t vocabulary = 0;
  std::size_t hidden_size = 0;
  std::size_t intermediate_size = 0;
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;         ///< sliding layers
  std::size_t global_kv_heads = 0;  ///< full layers
  std::size_t head_dim = 0;         ///< sliding layers
  std::size_t global_head_dim = 0;  ///< full layers
  bool keys_are_values = false;     ///< full layers project no values
  float rms_norm_eps = 0;
  std::size_t context = 0;
  RopeParameters sliding_rope;
  RopeParameters full_rope;
  std::size_t sliding_window = 0;
  std::vector<LayerType> layer_types;
  std::size_t kv_shared_layers = 0;  ///< trailing layers that own no keys and values
  bool double_wide_mlp = false;      ///< those layers have twice the feed-forward width
  std::size_t per_layer_width = 0;   ///< P; 0 = no per-layer inputs
  std::size_t per_layer_vocabulary = 0;
  std::optional<MoeConfig> moe;
  std::optional<float> logit_softcap;
  std::int32_t pad_token = 0;
  bool tied_head = true;
  std::vector<std::int32_t> media_tokens;  ///< placeholders: image, audio, video

  /// Layers [0, kv_owners()) own keys and values.
  std::size_t kv_owners() const { return layers - kv_shared_layers; }
  bool shares_kv(std::size_t layer) const { return layer >= kv_owners(); }
  /// The last owner of the same type.
  std::size_t donor(std::size_t layer) const;
  std::size_t head_dim_of(std::size_t layer) const;
  std::size_t kv_heads_of(std::size_t layer) const;
  std::size_t intermediate_of(std::size_t layer) const;
};

/// Reads config.json. Throws Error kCorrupt for missing, mistyped or contradictory fields, kUnsupported for
/// features no released text model uses.
Config read_config(const io::Fields& root);

}  // namespace lanner::models::gemma4
