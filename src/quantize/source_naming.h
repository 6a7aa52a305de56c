// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "io/checkpoint.h"
#include "quantize/target_tensor.h"

namespace lanner::quantize {

/// A source tensor's name in MLX's world.
struct MlxName {
  std::string name;
  Part part = Part::kText;
};

/// What mapping one family's names needs to know. One implementation per family.
class SourceNaming {
 public:
  virtual ~SourceNaming() = default;
  /// nullopt: the tensor is left out.
  virtual std::optional<MlxName> rename(std::string_view name) const = 0;
  /// How the elements change; `name` is the MLX name.
  virtual Change change(const MlxName& name, const Shape& shape) const = 0;
  /// "switch_glu" or "switch_mlp": the module that takes the stacked experts.
  virtual std::string_view experts_module() const = 0;
};

/// Gemma 4 and Gemma 4 unified, multimodal or text-only.
class Gemma4Naming final : public SourceNaming {
 public:
  explicit Gemma4Naming(const io::Checkpoint& checkpoint);
  std::optional<MlxName> rename(std::string_view name) const override;
  Change change(const MlxName& name, const Shape& shape) const override;
  std::string_view experts_module() const override { return "experts.switch_glu"; }

 private:
  bool is_shared_kv(std::string_view name) const;

  bool text_only_ = false;
  bool tied_ = true;
  std::size_t first_shared_layer_ = 0;  ///< layers from here on own no k and v
};

/// Qwen 3.5 and 3.6, dense or MoE, multimodal or text-only.
class Qwen35Naming final : public SourceNaming {
 public:
  explicit Qwen35Naming(const io::Checkpoint& checkpoint);
  std::optional<MlxName> rename(std::string_view name) const override;
  Change change(const MlxName& name, const Shape& shape) const override;
  std::string_view experts_module() const override { return "switch_mlp"; }

 private:
  bool tied_ = false;
  bool raw_ = false;  ///< Hugging Face form: conv1d [C, 1, K], norm gains minus one
  std::int64_t vision_channels_ = 3;
};

}  // namespace lanner::quantize
