// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "text/grammar/grammar_vocabularies.h"

namespace lanner::text::grammar::test {

/// A small request that asks for much work.
struct Bomb {
  std::string name;
  std::function<GrammarSource(const GrammarVocabulary&)> write;
  /// Whether it must compile and be followed; else it may be refused.
  enum class Answer : std::uint8_t { kWorks, kAny } answer = Answer::kAny;
};

/// For every front end.
std::vector<Bomb> grammar_bombs();

}  // namespace lanner::text::grammar::test
