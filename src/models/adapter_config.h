// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::models {

/// Numbers of single modules in a PEFT config, in the order of the file.
class ModulePatterns {
 public:
  ModulePatterns() = default;
  /// The object `field` of a config's text, which was parsed before. Throws Error kCorrupt for values that
  /// are no positive numbers, kUnsupported for keys that are not simple regular expressions.
  ModulePatterns(const std::string& config_text, const std::string& field, const std::string& source);

  /// The number of the first key that is the module's path or ends it; nothing when there is none.
  std::optional<double> find(const std::string& module) const;

 private:
  struct Entry {
    std::regex key;
    double value = 0;
  };
  std::vector<Entry> entries_;
};

/// How strong the modules of a LoRA adapter are, as its config says.
class AdapterConfig {
 public:
  /// Reads adapter_config.json, and optiq_lora_config.json where there is one. Throws Error kNotFound and
  /// kCorrupt, and kUnsupported naming the field for what is not plain LoRA.
  static AdapterConfig read(const std::filesystem::path& folder);

  /// What b a is multiplied by. PEFT: alpha / rank, or alpha / sqrt(rank) with use_rslora; mlx-lm: scale.
  /// `module`: as AdapterTensorName has it. Throws Error kCorrupt when the file's factors have another rank
  /// than a config says that divides by it.
  float scale(const std::string& module, std::size_t rank) const;

 private:
  enum class Rule : std::uint8_t { kScale, kScaleOverRoot, kAlphaOverRank, kAlphaOverRoot };

  void read_peft(const std::string& text, const std::string& source);
  void read_mlx(const std::string& text, const std::string& source);
  void read_optiq(const std::string& text, const std::string& source);

  Rule rule_ = Rule::kScale;
  double strength_ = 0;               ///< scale or alpha
  std::optional<std::int64_t> rank_;  ///< of modules that have none of their own; none = whatever they have
  std::string rank_field_;            ///< that says so
  ModulePatterns ranks_;
  ModulePatterns alphas_;
  std::string source_;
};

}  // namespace lanner::models
