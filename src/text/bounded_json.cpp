// SPDX-License-Identifier: MIT
#include "text/bounded_json.h"

#include "io/json.h"

namespace lanner::text {

std::optional<nlohmann::ordered_json> parse_bounded_json(std::string_view text) {
  using Json = nlohmann::ordered_json;
  // The JSON library takes a NUL byte for the end of its input.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  bool too_deep = false;
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > io::kMaxJsonDepth;
    return !too_deep;
  };
  Json parsed = Json::parse(text, check_depth, false);
  if (too_deep || parsed.is_discarded()) return std::nullopt;
  return parsed;
}

}  // namespace lanner::text
