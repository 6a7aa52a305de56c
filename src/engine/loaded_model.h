// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/cpu_features.h"
#include "device/ops.h"
#include "engine/generation_defaults.h"
#include "io/checkpoint.h"
#include "models/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// A checkpoint folder ready to run: weights mapped, kernels bound, text parts read. Immutable.
class LoadedModel {
 public:
  /// Throws Error for anything wrong with the folder.
  LoadedModel(const std::filesystem::path& folder, Isa isa);

  const io::Checkpoint& checkpoint() const { return checkpoint_; }
  const device::Ops& ops() const { return ops_; }
  const models::Model& model() const { return *model_; }
  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  /// Throws Error kNotFound when the folder has no chat template.
  const text::ChatTemplate& chat_template() const;
  bool has_chat_template() const { return chat_template_.has_value(); }
  const GenerationDefaults& defaults() const { return defaults_; }
  /// Token ids of a prompt that is no chat: what the tokenizer gives, after <bos> where the family begins
  /// texts so.
  std::vector<TokenId> encode_plain(std::string_view text) const;
  /// Token ids of a rendered chat; a doubled <bos> at the beginning is taken once.
  std::vector<TokenId> encode_chat(std::string_view rendered) const;

 private:
  io::Checkpoint checkpoint_;
  device::Ops ops_;
  std::unique_ptr<models::Model> model_;
  text::Tokenizer tokenizer_;
  std::optional<text::ChatTemplate> chat_template_;
  GenerationDefaults defaults_;
};

}  // namespace lanner::engine
