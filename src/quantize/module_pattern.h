// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lanner::quantize {

/// A regular expression (PCRE2 syntax) searched anywhere in a module path.
class ModulePattern {
 public:
  /// nullopt when the text is not a regular expression.
  static std::optional<ModulePattern> compile(std::string_view pattern);

  bool finds(std::string_view module) const;

 private:
  explicit ModulePattern(std::shared_ptr<const void> code) : code_(std::move(code)) {}

  std::shared_ptr<const void> code_;
};

}  // namespace lanner::quantize
