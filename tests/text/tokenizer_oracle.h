// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "text/tokenizer.h"

namespace lanner::text::test {

/// A tokenizer with the oracle's answers for it: {cases, with_special_tokens, prefixes, decode}.
struct Oracle {
  std::string name;
  Tokenizer tokenizer;
  io::Json answers;
};

/// The tokenizers of the two tale models. Throws when a file is missing.
std::vector<Oracle> tale_oracles();

/// The published Gemma 3 and Qwen 3 tokenizers, and the latter with Qwen 3.5's word pattern; none when they
/// are not installed, which is reported.
std::vector<Oracle> published_oracles();

std::vector<TokenId> ids_of(const io::Json& answer);

}  // namespace lanner::text::test
