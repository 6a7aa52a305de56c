// SPDX-License-Identifier: MIT
#include "quantize/module_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace lanner::quantize {

std::optional<ModulePattern> ModulePattern::compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), 0, &error,
                                   &offset, nullptr);
  if (code == nullptr) return std::nullopt;
  return ModulePattern(std::shared_ptr<const void>(code, [code](const void*) { pcre2_code_free(code); }));
}

bool ModulePattern::finds(std::string_view module) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  // Running into PCRE2's match limit counts as not found.
  return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(module.data()), module.size(), 0, 0, match.get(),
                     nullptr) >= 0;
}

}  // namespace lanner::quantize
