// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>

#include "text/grammar/code_points.h"
#include "text/grammar/grammar_source.h"

namespace lanner::text::grammar {

/// How a grammar writes one character of a set: plain UTF-8, or as a JSON string holds it.
using WriteCharacter = std::function<ExprId(GrammarSource& source, const CodePointSet& set)>;

/// Reads a regular expression of ECMAScript's dialect, as JSON Schema uses it, that must match the whole
/// text: classes, \d \w \s and their complements, \p{category}, groups, alternatives, quantifiers (lazy ones
/// mean the same), escapes, `^` at the beginning and `$` at the end. Not supported: looking around,
/// references back, word boundaries. Errors name `what` with line and column: kInvalidArgument for what is no
/// expression, kUnsupported.
ExprId parse_whole_regex(GrammarSource& source, std::string_view expression, std::string_view what,
                         const WriteCharacter& write);

/// The same for an expression that need only match a part of the text, as "pattern" of JSON Schema.
ExprId parse_search_regex(GrammarSource& source, std::string_view expression, std::string_view what,
                          const WriteCharacter& write);

/// Characters in UTF-8.
ExprId write_plain(GrammarSource& source, const CodePointSet& set);

}  // namespace lanner::text::grammar
