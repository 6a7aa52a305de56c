// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "text/grammar/grammar_source.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar {

/// Reads a grammar in Lark's language: rules and TERMINALS, strings (with flag i), "a".."z", /expressions/,
/// groups, [optional], the operators | * + ? ~n ~n..m, aliases, priorities (which have no meaning here),
/// %ignore, %import of common terminals, and marker tokens <name>. The root rule is "start". There is no
/// lexer: a text satisfies the grammar when some way of cutting it into terminals does, the longest or not.
/// Not supported: templates, %declare, %override, %extend. Throws Error with line and column.
/// Source: docs/grammar.md of Lark 1.2.
GrammarSource parse_lark(std::string_view text, const GrammarVocabulary& vocabulary);

}  // namespace lanner::text::grammar
