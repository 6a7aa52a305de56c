// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "text/grammar/grammar_source.h"

namespace lanner::text::grammar::test {

/// Whether the whole text satisfies the grammar, found the slow and simple way: for every rule and every
/// beginning the set of ends, grown until nothing changes. Markers match nothing.
bool oracle_accepts(const GrammarSource& source, std::string_view text);

}  // namespace lanner::text::grammar::test
