// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace lanner::text {

// Qwen 3.5's tags inside <tool_call>. Source: the published chat template.
inline constexpr std::string_view kFunction = "<function=";
inline constexpr std::string_view kFunctionEnd = "</function>";
inline constexpr std::string_view kParameter = "<parameter=";
inline constexpr std::string_view kParameterEnd = "</parameter>";

}  // namespace lanner::text
