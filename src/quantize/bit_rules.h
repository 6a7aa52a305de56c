// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/module_pattern.h"
#include "quantize/quant_format.h"

namespace lanner::quantize {

/// The user's wish for the modules whose path a regular expression finds: affine bits, or no quantization.
struct BitOverride {
  std::string text;  ///< as given, for messages
  ModulePattern pattern;
  std::optional<int> bits;   ///< nullopt: leave unquantized
  std::optional<int> group;  ///< nullopt: the global group
};

/// Parses "REGEX=BITS", "REGEX=BITS:GROUP" or "REGEX=none" (PCRE2, searched anywhere in the module
/// path). Throws Error kInvalidArgument.
BitOverride parse_bit_override(std::string_view text);

/// What becomes of one module.
struct ModuleFormat {
  std::optional<QuantFormat> format;  ///< nullopt: stays in floating point
  bool listed = false;  ///< config.json must name the module, since it deviates from the global format
};

/// Decides the format of each module of the language model: the first override that matches, else 8 bits at
/// group 64 for router.proj, mlp.gate and shared_expert_gate, else the global format. Gemma's
/// per_layer_model_projection stays in floating point unless an override names bits for it (mlx-lm has no
/// quantized form of it). Where the columns are no multiple of the group, a smaller legal affine group is
/// taken, or none. Source: mlx-lm's converter and the models' predicates.
class BitRules {
 public:
  /// Throws Error kInvalidArgument for an illegal global format or override.
  BitRules(const QuantFormat& global, std::vector<BitOverride> overrides);

  ModuleFormat format_of(std::string_view module, std::size_t columns);
  const QuantFormat& global() const { return global_; }
  /// Overrides that have matched no module so far.
  std::vector<std::string> unused_overrides() const;

 private:
  std::optional<QuantFormat> wanted(std::string_view module);

  QuantFormat global_;
  std::vector<BitOverride> overrides_;
  std::vector<bool> used_;
};

}  // namespace lanner::quantize
