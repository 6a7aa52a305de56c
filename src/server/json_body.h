// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lanner::server {

/// Objects keep the order of their keys: templates print them.
using Json = nlohmann::ordered_json;

/// The JSON object in a request's body. Throws RequestError `invalid_json`, giving line, column and byte, for
/// anything else, and for bodies that nest deeper than io::kMaxJsonDepth or have objects with so many keys
/// that looking them up would take seconds.
Json parse_body(std::string_view body);

/// One line. Bytes that are not UTF-8 become U+FFFD.
std::string write_json(const Json& json);

}  // namespace lanner::server
