// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/text_file.h"

namespace lanner::io {

/// Objects are sorted by key; of duplicate keys the last one counts, as in Python.
using Json = nlohmann::json;

/// Deepest nesting parse_json() accepts. Code that walks, copies or prints a Json recurses by its depth.
inline constexpr int kMaxJsonDepth = 128;

/// Parses one JSON document. `source` names it in errors, which are kCorrupt and give line, column and byte:
/// text that is not JSON, not UTF-8, empty, a git-lfs pointer, or nested deeper than kMaxJsonDepth.
Json parse_json(std::string_view text, std::string_view source);

/// read_text_file() then parse_json(). Errors about the content name the file without its folder.
Json load_json(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxTextBytes);

}  // namespace lanner::io
