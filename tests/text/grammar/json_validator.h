// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

namespace lanner::text::grammar::test {

/// Whether the value satisfies the schema (draft 2020-12), written after the specification with no regard to
/// grammars: types, enum, const, bounds, lengths, pattern (PCRE2), items, properties, $ref within the
/// document and the combinations allOf, anyOf, oneOf. `format` is not looked at.
bool satisfies(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema,
               const nlohmann::ordered_json& document);

}  // namespace lanner::text::grammar::test
