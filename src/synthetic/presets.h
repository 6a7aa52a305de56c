// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace lanner::synthetic {

/// Names of the released sizes: "gemma4-e2b", ..., "qwen3.5-35b-a3b".
std::vector<std::string_view> preset_names();

/// The text part of a released size's config.json, or std::nullopt for an unknown name.
std::optional<io::Json> preset_config(std::string_view name);

}  // namespace lanner::synthetic
