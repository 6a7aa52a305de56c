// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/loaded_model.h"
#include "text/grammar/grammar.h"

namespace lanner::test {

/// The text tokens among a tokenizer's first `vocabulary` ids, its markers and the checkpoint's stop tokens.
/// Every byte is a token, if need be in place of a longer text, so that every text can be spelt.
std::shared_ptr<const text::grammar::GrammarVocabulary> grammar_vocabulary(const engine::LoadedModel& model,
                                                                           std::size_t vocabulary);

/// One grammar of every front end: JSON of any form, a recursive schema, an expression, a choice, GBNF.
std::vector<std::shared_ptr<const text::grammar::Grammar>> test_grammars(
    const std::shared_ptr<const text::grammar::GrammarVocabulary>& vocabulary);

}  // namespace lanner::test
