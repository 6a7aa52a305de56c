// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <limits>

#include "quantize/source_naming.h"

namespace lanner::quantize {
namespace {

constexpr std::string_view kTowers[] = {"vision_tower.", "audio_tower.",     "embed_vision.",
                                        "embed_audio.",  "vision_embedder.", "multi_modal_projector."};

bool is_tower(std::string_view name) {
  return std::ranges::any_of(kTowers, [&](std::string_view tower) { return name.starts_with(tower); });
}

/// The N of "...layers.N.self_attn.X", or nullopt.
std::optional<std::size_t> attention_layer(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t at = name.find(kLayers);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = name.data() + at + kLayers.size();
  std::size_t layer = 0;
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), layer);
  const std::string_view rest(end, static_cast<std::size_t>(name.data() + name.size() - end));
  if (error != std::errc() || !rest.starts_with(".self_attn.")) return std::nullopt;
  return layer;
}

}  // namespace

Gemma4Naming::Gemma4Naming(const io::Checkpoint& checkpoint) {
  const io::Fields config = checkpoint.config_fields();
  const std::optional<io::Fields> nested = config.find_object("text_config");
  const io::Fields& text = nested ? *nested : config;
  text_only_ = !nested;
  tied_ = text.optional_bool("tie_word_embeddings", config.optional_bool("tie_word_embeddings", true));
  const auto layers = text.optional_int("num_hidden_layers", 30, io::kPositive);
  const auto shared = text.optional_int("num_kv_shared_layers", 0, {.min = 0, .max = layers});
  first_shared_layer_ =
      shared == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(layers - shared);
}

bool Gemma4Naming::is_shared_kv(std::string_view name) const {
  const std::optional<std::size_t> layer = attention_layer(name);
  if (!layer || *layer < first_shared_layer_) return false;
  return name.find(".k_proj.") != std::string_view::npos || name.find(".v_proj.") != std::string_view::npos ||
         name.find(".k_norm.") != std::string_view::npos;
}

std::optional<MlxName> Gemma4Naming::rename(std::string_view name) const {
  const std::string_view bare = name.starts_with("model.") ? name.substr(6) : name;
  if (is_tower(bare)) return MlxName{std::string(bare), Part::kTower};
  if (name.find("rotary_emb.") != std::string_view::npos || is_shared_kv(name)) return std::nullopt;
  const bool is_head = name.ends_with("lm_head.weight") || name.ends_with("lm_head.bias");
  if (is_head && tied_) return std::nullopt;

  constexpr std::string_view kLanguage = "language_model.";
  std::string_view inner = bare;
  if (inner.starts_with(kLanguage)) inner.remove_prefix(kLanguage.size());
  if (inner.starts_with("model.")) inner.remove_prefix(6);
  const std::string prefix = text_only_ ? "" : std::string(kLanguage);
  return MlxName{prefix + (is_head ? "" : "model.") + std::string(inner), Part::kText};
}

Change Gemma4Naming::change(const MlxName& name, const Shape& shape) const {
  if (!name.name.starts_with("audio_tower.")) return Change::kNone;
  // Hugging Face keeps [out, in, kH, kW] and [C, 1, K]; in MLX's [out, kH, kW, in] the last two differ.
  const bool conv2d = name.name.ends_with(".conv.weight") && shape.rank() == 4 && shape[2] == shape[3];
  const bool conv1d = name.name.ends_with("depthwise_conv1d.weight") && shape.rank() == 3 && shape[2] != 1;
  return conv2d || conv1d ? Change::kChannelsLast : Change::kNone;
}

}  // namespace lanner::quantize
