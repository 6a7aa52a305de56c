// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/fields.h"

namespace lanner::models {

/// What config.json says of one module's quantization; absent fields are decided from the tensors.
struct ModuleQuantization {
  std::optional<int> bits;
  std::optional<int> group;
  std::optional<std::string> mode;  ///< "affine", "mxfp4", "mxfp8", "nvfp4"
  bool quantized = true;            ///< false: the file says this module is not quantized
};

/// The `quantization` block of an MLX checkpoint: global values and overrides by module path.
class QuantizationConfig {
 public:
  /// Reads `quantization`, else `quantization_config`, at the top or inside text_config. Throws Error
  /// kUnsupported for methods lanner does not read (awq, gptq, fp8, bitnet, ...) and kCorrupt for malformed
  /// fields.
  static QuantizationConfig read(const io::Fields& config);

  /// What holds for a module given without family prefix ("layers.3.mlp.down_proj"): its override, completed
  /// by the global values.
  ModuleQuantization of(std::string_view module) const;
  /// True when the file lists this module with values of its own.
  bool lists(std::string_view module) const { return overrides_.contains(std::string(module)); }

 private:
  ModuleQuantization global_;
  std::map<std::string, ModuleQuantization, std::less<>> overrides_;
};

/// Takes "model.language_model.", "language_model.model.", "language_model." or "model." off a module path or
/// tensor name of the text model, so that both naming worlds meet.
std::string_view without_text_prefix(std::string_view name);

}  // namespace lanner::models
