// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "text/added_tokens.h"

namespace lanner::io {
class Fields;
}

namespace lanner::text {

class Vocabulary;

/// Reads the `added_tokens` of a tokenizer.json and then, if given, the `added_tokens_decoder` of a
/// tokenizer_config.json, whose flags win, and adds to `vocabulary` those it lacks. Throws Error kCorrupt
/// when an id or a text is taken by another token.
std::vector<AddedToken> read_added_tokens(const io::Fields& tokenizer,
                                          const std::optional<io::Fields>& config, Vocabulary& vocabulary);

}  // namespace lanner::text
