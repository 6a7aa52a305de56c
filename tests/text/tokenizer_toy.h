// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"
#include "text/tokenizer.h"

namespace lanner::text::test {

/// A small, complete tokenizer.json: <unk> 0, the letters a to e 1 to 5, "▁" 6, "ab" 7, "abc" 8, "1" 9, "2"
/// 10, "." 11, "é" 12, "\n" 13 and the special added token <s> 14. No normalizer and pre-tokenizer; the
/// decoder fuses.
io::Json toy_json();

Tokenizer toy_tokenizer(const io::Json& file);

/// The tokens of `text` as the vocabulary spells them.
std::vector<std::string> spell(const Tokenizer& tokenizer, std::string_view text,
                               const EncodeOptions& options = {});

/// {"type": "Split", ...} with a fixed text or, when it is between slashes, an expression.
io::Json split_component(std::string_view pattern, std::string_view behavior);

}  // namespace lanner::text::test
