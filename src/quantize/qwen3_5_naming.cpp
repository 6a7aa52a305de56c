// SPDX-License-Identifier: MIT
#include "quantize/source_naming.h"

namespace lanner::quantize {
namespace {

/// Norms that Hugging Face stores as gain - 1. The gated norm inside the delta net is not one of them.
constexpr std::string_view kShiftedNorms[] = {".input_layernorm.weight",
                                              ".post_attention_layernorm.weight",
                                              ".q_norm.weight",
                                              ".k_norm.weight",
                                              "mtp.norm.weight",
                                              "language_model.model.norm.weight",
                                              "mtp.pre_fc_norm_hidden.weight",
                                              "mtp.pre_fc_norm_embedding.weight"};

bool is_conv1d(std::string_view name) { return name.ends_with("linear_attn.conv1d.weight"); }

/// Takes the first of the prefixes off that is there.
std::string_view without(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

}  // namespace

Qwen35Naming::Qwen35Naming(const io::Checkpoint& checkpoint) {
  const io::Fields config = checkpoint.config_fields();
  const std::optional<io::Fields> nested = config.find_object("text_config");
  const io::Fields& text = nested ? *nested : config;
  tied_ = text.optional_bool("tie_word_embeddings", config.optional_bool("tie_word_embeddings", false));
  if (const auto vision = config.find_object("vision_config"))
    vision_channels_ = vision->optional_int("in_channels", 3, io::kPositive);
  for (const io::TensorEntry& tensor : checkpoint.tensors())
    if (is_conv1d(tensor.name) && tensor.shape.rank() == 3 && tensor.shape.back() != 1) raw_ = true;
}

std::optional<MlxName> Qwen35Naming::rename(std::string_view name) const {
  if (name.find("rotary_emb.") != std::string_view::npos) return std::nullopt;
  if (name.starts_with("vision_tower.")) return MlxName{std::string(name), Part::kTower};
  const std::string_view inner =
      without(name, {"model.language_model.", "language_model.model.", "language_model.", "model."});
  if (inner.starts_with("visual."))
    return MlxName{"vision_tower." + std::string(inner.substr(7)), Part::kTower};
  if (inner.starts_with("mtp.")) return MlxName{std::string(inner), Part::kMtp};
  if (inner.starts_with("lm_head.")) {
    if (tied_) return std::nullopt;
    return MlxName{"language_model." + std::string(inner), Part::kText};
  }
  return MlxName{"language_model.model." + std::string(inner), Part::kText};
}

Change Qwen35Naming::change(const MlxName& name, const Shape& shape) const {
  if (name.part == Part::kTower) {
    const bool raw = name.name.ends_with("patch_embed.proj.weight") && shape.rank() == 5 &&
                     shape[1] == vision_channels_ && shape.back() != vision_channels_;
    return raw ? Change::kChannelsLast : Change::kNone;
  }
  if (!raw_) return Change::kNone;
  if (is_conv1d(name.name) && shape.rank() == 3) return Change::kChannelsLast;
  for (const std::string_view norm : kShiftedNorms)
    if (name.name.ends_with(norm)) return Change::kAddOne;
  return Change::kNone;
}

}  // namespace lanner::quantize
