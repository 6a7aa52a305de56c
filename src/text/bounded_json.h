// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace lanner::text {

/// Parses JSON that keeps the order of its keys. Nothing when the text is not one JSON value, or nests deeper
/// than io::kMaxJsonDepth: code that copies or prints values recurses.
std::optional<nlohmann::ordered_json> parse_bounded_json(std::string_view text);

}  // namespace lanner::text
