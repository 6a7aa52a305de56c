// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "text/grammar/grammar_vocabularies.h"

namespace lanner::text::grammar::test {

/// A random schema, perhaps one that refers to itself.
nlohmann::ordered_json random_schema(Dice& dice);

/// A random value that satisfies the schema, its properties in the schema's order.
nlohmann::ordered_json random_instance(Dice& dice, const nlohmann::ordered_json& schema,
                                       const nlohmann::ordered_json& document);

}  // namespace lanner::text::grammar::test
