// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "text/grammar/grammar_source.h"
#include "text/grammar/vocabulary.h"

namespace lanner::text::grammar {

/// Reads a grammar in llama.cpp's GBNF: rules `name ::= ...` of literals, character classes, `.`, groups,
/// alternatives, the quantifiers * + ? {m} {m,} {m,n}, comments, and marker tokens `<name>` and `<[id]>`. The
/// root rule is "root". Left recursion is allowed. Throws Error kInvalidArgument with line and column.
/// Source: grammars/README.md and llama-grammar.cpp of llama.cpp.
GrammarSource parse_gbnf(std::string_view text, const GrammarVocabulary& vocabulary);

}  // namespace lanner::text::grammar
