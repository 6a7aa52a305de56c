// SPDX-License-Identifier: MIT
#include "text/tokenizer_toy.h"

namespace lanner::text::test {

io::Json toy_json() {
  return io::Json::parse(R"({
    "added_tokens": [{"id": 14, "content": "<s>", "special": true, "normalized": false}],
    "normalizer": null,
    "pre_tokenizer": null,
    "post_processor": null,
    "decoder": {"type": "Fuse"},
    "model": {
      "type": "BPE",
      "unk_token": "<unk>",
      "vocab": {"<unk>": 0, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "▁": 6, "ab": 7, "abc": 8, "1": 9, "2": 10, ".": 11,
                "é": 12, "\n": 13},
      "merges": ["a b", ["ab", "c"]]
    }
  })");
}

Tokenizer toy_tokenizer(const io::Json& file) { return Tokenizer::parse(file.dump()); }

std::vector<std::string> spell(const Tokenizer& tokenizer, std::string_view text,
                               const EncodeOptions& options) {
  std::vector<std::string> tokens;
  for (TokenId id : tokenizer.encode(text, options)) tokens.push_back(tokenizer.token_text(id));
  return tokens;
}

io::Json split_component(std::string_view pattern, std::string_view behavior) {
  const bool is_expression = pattern.size() > 1 && pattern.starts_with('/') && pattern.ends_with('/');
  io::Json component = {{"type", "Split"}, {"behavior", behavior}, {"invert", false}};
  if (is_expression) {
    component["pattern"]["Regex"] = pattern.substr(1, pattern.size() - 2);
  } else {
    component["pattern"]["String"] = pattern;
  }
  return component;
}

}  // namespace lanner::text::test
