// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "text/added_tokens.h"
#include "text/normalizer.h"
#include "text/tokenizer_oracle.h"
#include "text/tokenizer_toy.h"

namespace lanner::text::test {
namespace {

using Strings = std::vector<std::string>;

/// The parts of `text`, tokens in square brackets.
Strings parts_of(std::vector<AddedToken> tokens, std::string_view text,
                 AddedTokenUse use = AddedTokenUse::kAll, const std::vector<TextSpan>& literal = {}) {
  const AddedTokens added(std::move(tokens), Normalizer());
  Strings parts;
  for (const AddedTokens::Part& part : added.split(text, AddedTokens::Stage::kRaw, use, literal)) {
    const std::string covered(text.substr(part.span.begin, part.span.end - part.span.begin));
    parts.push_back(part.token ? "[" + covered + "]" : covered);
  }
  return parts;
}

}  // namespace

TEST_CASE("added tokens: the longest one at the leftmost place is taken") {
  const std::vector<AddedToken> tokens = {{.id = 0, .content = "<a>"},
                                          {.id = 1, .content = "<a><b>"},
                                          {.id = 2, .content = "b>c"},
                                          {.id = 3, .content = ""}};
  CHECK(parts_of(tokens, "x<a><b>c<a>") == Strings{"x", "[<a><b>]", "c", "[<a>]"});
  CHECK(parts_of(tokens, "<a<a>") == Strings{"<a", "[<a>]"});
  CHECK(parts_of(tokens, "") == Strings{});
}

TEST_CASE("added tokens: lstrip and rstrip take white space, single_word minds its neighbours") {
  CHECK(parts_of({{.id = 0, .content = "<m>", .lstrip = true}}, "a \u3000<m> b") ==
        Strings{"a", "[ \u3000<m>]", " b"});
  CHECK(parts_of({{.id = 0, .content = "<m>", .rstrip = true}}, "a <m> \n<m>  b") ==
        Strings{"a ", "[<m> \n]", "[<m>  ]", "b"});
  CHECK(parts_of({{.id = 0, .content = "ing", .single_word = true}}, "ing sing ings, ing!") ==
        Strings{"[ing]", " sing ings, ", "[ing]", "!"});
  CHECK(parts_of({{.id = 0, .content = "ing", .single_word = true}}, "éing") == Strings{"éing"});
}

TEST_CASE("added tokens: special ones, or all markers, can be taken for ordinary text") {
  const std::vector<AddedToken> tokens = {{.id = 0, .content = "<s>", .special = true},
                                          {.id = 1, .content = "<t>"},
                                          {.id = 2, .content = "<table>", .in_model = true}};
  CHECK(parts_of(tokens, "<s><t><table>") == Strings{"[<s>]", "[<t>]", "[<table>]"});
  CHECK(parts_of(tokens, "<s><t><table>", AddedTokenUse::kNotSpecial) ==
        Strings{"<s>", "[<t>]", "[<table>]"});
  CHECK(parts_of(tokens, "<s><t><table>", AddedTokenUse::kNotMarkers) == Strings{"<s><t>", "[<table>]"});
}

TEST_CASE("added tokens: no marker is found in literal text or reaches into it") {
  const std::vector<AddedToken> tokens = {{.id = 0, .content = "<s>"},
                                          {.id = 1, .content = "<s>!"},
                                          {.id = 2, .content = "!!", .in_model = true}};
  CHECK(parts_of(tokens, "<s><s><s>", AddedTokenUse::kAll, {{3, 6}}) == Strings{"[<s>]", "<s>", "[<s>]"});
  CHECK(parts_of(tokens, "<s>!", AddedTokenUse::kAll, {{3, 4}}) == Strings{"[<s>]", "!"});
  CHECK(parts_of(tokens, "<s>", AddedTokenUse::kAll, {{0, 1}}) == Strings{"<s>"});
  CHECK(parts_of(tokens, "<s>", AddedTokenUse::kAll, {{2, 3}}) == Strings{"<s>"});
  CHECK(parts_of(tokens, "<s>!!", AddedTokenUse::kAll, {{0, 5}}) == Strings{"<s>", "[!!]"});
  CHECK(parts_of(tokens, "<s>!!<s>", AddedTokenUse::kAll, {{0, 4}}) == Strings{"<s>", "[!!]", "[<s>]"});
}

TEST_CASE("added tokens: a normalized token is found in normalized text") {
  io::Json file = toy_json();
  file["normalizer"] = {{"type", "Lowercase"}};
  file["added_tokens"].push_back({{"id", 15}, {"content", "DE"}, {"special", false}, {"normalized", true}});
  file["added_tokens"].push_back({{"id", 16}, {"content", "<B>"}, {"special", false}, {"normalized", false}});
  const Tokenizer tokenizer = toy_tokenizer(file);
  CHECK(spell(tokenizer, "aDeB") == Strings{"a", "DE", "b"});
  CHECK(spell(tokenizer, "de<B>") == Strings{"DE", "<B>"});
  CHECK(tokenizer.encode("<b>") == std::vector<TokenId>{0, 2, 0});
  CHECK(spell(tokenizer, "ade", {.literal = {{1, 2}}}) == Strings{"a", "d", "e"});
}

TEST_CASE("added tokens: added_tokens_decoder of the config adds tokens and corrects flags") {
  const std::string config = R"({"added_tokens_decoder": {
    "14": {"content": "<s>", "special": false}, "20": {"content": "<new>", "special": true}}})";
  const Tokenizer tokenizer = Tokenizer::parse(toy_json().dump(), "tokenizer.json", config);
  CHECK_FALSE(tokenizer.is_special(14));
  CHECK(tokenizer.is_special(20));
  CHECK(tokenizer.vocab_size() == 21);
  CHECK_FALSE(tokenizer.contains(17));
  CHECK(tokenizer.token_text(17) == "");
  CHECK(tokenizer.encode("a<new>") == std::vector<TokenId>{1, 20});
}

TEST_CASE("added tokens: the model's own tokens are found in literal text, so that it keeps its ids") {
  for (const Oracle& oracle : published_oracles()) {
    const std::string text = "<table>\n\n<td>1</td></table>\n   x";
    CAPTURE(oracle.name);
    CHECK(oracle.tokenizer.encode(text, {.literal = {{0, text.size()}}}) == oracle.tokenizer.encode(text));
  }
}

TEST_CASE("tokenizer: markers inside user text stay text, and the rest of the prompt keeps its ids") {
  for (const Oracle& oracle : tale_oracles()) {
    const bool gemma = oracle.name == "tale-gemma4";
    const std::string open = gemma ? "<|turn>user\n" : "<|im_start|>user\n",
                      close = gemma ? "<turn|>" : "<|im_end|>";
    const std::string content = "A" + open + "B" + close + " and </think> and <tool_call>";
    CAPTURE(oracle.name);
    const std::string prompt = open + content + close;
    const EncodeOptions options{.literal = {{open.size(), open.size() + content.size()}}};
    int markers = 0;
    for (TokenId id : oracle.tokenizer.encode(prompt, options)) {
      for (const AddedToken& token : oracle.tokenizer.added_tokens()) markers += token.id == id;
    }
    CHECK(markers == 2);
    CHECK(oracle.tokenizer.decode(oracle.tokenizer.encode(prompt, options)) == prompt);

    const std::string plain = open + "Hello there,\n\n  you" + close;
    const EncodeOptions literal_text{.literal = {{open.size(), plain.size() - close.size()}}};
    CHECK(oracle.tokenizer.encode(plain, literal_text) == oracle.tokenizer.encode(plain));
  }
}

}  // namespace lanner::text::test
