// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/error.h"
#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"
#include "text/grammar/token_mask.h"

namespace lanner::fuzz {

/// Compiles what `parse` makes and walks along allowed tokens: each mask has one, and each allowed token is
/// accepted. lanner::Error is what bad input should give.
template <typename Parse>
void try_grammar(const Parse& parse) {
  using namespace lanner::text::grammar;
  static const auto kVocabulary = [] {
    std::vector<TokenBytes> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.push_back({byte, std::string(1, static_cast<char>(byte))});
    for (const char* text : {"\",\"", "{\"", "ab", "abc", "  ", "]}", "\xC3"})
      tokens.push_back({static_cast<TokenId>(tokens.size()), text});
    const auto next = static_cast<TokenId>(tokens.size());
    return std::make_shared<GrammarVocabulary>(
        tokens.size() + 2, tokens, std::vector<GrammarVocabulary::Marker>{{next, "<a>"}, {next + 1, "<end>"}},
        std::vector<TokenId>{next + 1});
  }();
  try {
    Matcher matcher(std::make_shared<Grammar>(parse(*kVocabulary), kVocabulary));
    std::vector<std::uint64_t> mask(mask_words(kVocabulary->size()));
    for (std::uint32_t step = 0; step < 20 && !matcher.is_terminated(); ++step) {
      matcher.fill_mask(mask);
      std::vector<TokenId> allowed;
      for (std::size_t id = 0; id < kVocabulary->size(); ++id)
        if (allows_token(mask, static_cast<TokenId>(id))) allowed.push_back(static_cast<TokenId>(id));
      if (allowed.empty() || !matcher.accept(allowed[step * 7919U % allowed.size()])) std::abort();
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) std::abort();
  }
}

}  // namespace lanner::fuzz
