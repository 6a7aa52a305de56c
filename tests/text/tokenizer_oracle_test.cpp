// SPDX-License-Identifier: MIT
#include "text/tokenizer_oracle.h"

#include <doctest/doctest.h>

#include "text/detokenizer.h"

namespace lanner::text::test {
namespace {

constexpr EncodeOptions kAsPostProcessorSays{.surround = Surround::kPostProcessor};
constexpr DecodeOptions kSkipSpecial{SpecialTokens::kSkip};

void check_cases(const Oracle& oracle) {
  for (const io::Json& answer : oracle.answers["cases"]) {
    const auto text = answer["text"].get<std::string>();
    CAPTURE(oracle.name);
    CAPTURE(text);
    const std::vector<TokenId> ids = ids_of(answer);
    CHECK(oracle.tokenizer.encode(text) == ids);
    CHECK(oracle.tokenizer.decode(ids) == answer["decoded"].get<std::string>());
    CHECK(oracle.tokenizer.decode(ids, kSkipSpecial) == answer["decoded_skip_special"].get<std::string>());
  }
}

/// Pushes every prefix and checks that what came out so far, with what is held, is the reference's text.
void check_prefixes(const Oracle& oracle) {
  for (const io::Json& answer : oracle.answers["prefixes"]) {
    CAPTURE(oracle.name);
    CAPTURE(answer["text"].get<std::string>());
    Detokenizer detokenizer(oracle.tokenizer);
    std::string streamed;
    const std::vector<TokenId> ids = ids_of(answer);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      streamed += detokenizer.push(ids[i]);
      CHECK(find_invalid_utf8(streamed) == std::string::npos);
      CHECK(streamed + Detokenizer(detokenizer).finish() == answer["decoded"][i].get<std::string>());
    }
  }
}

}  // namespace

TEST_CASE("tokenizer: the tale models' ids and texts are the reference's") {
  for (const Oracle& oracle : tale_oracles()) {
    REQUIRE(oracle.answers["cases"].size() > 200);
    check_cases(oracle);
  }
}

TEST_CASE("tokenizer: published vocabularies give the reference's ids and texts") {
  for (const Oracle& oracle : published_oracles()) {
    REQUIRE(oracle.answers["cases"].size() == 446);
    check_cases(oracle);
    for (const io::Json& answer : oracle.answers["with_special_tokens"]) {
      CAPTURE(oracle.name);
      CAPTURE(answer["text"].get<std::string>());
      CHECK(oracle.tokenizer.encode(answer["text"].get<std::string>(), kAsPostProcessorSays) ==
            ids_of(answer));
    }
  }
}

TEST_CASE(
    "tokenizer: published vocabularies decode arbitrary ids like the reference, broken bytes included") {
  for (const Oracle& oracle : published_oracles()) {
    for (const io::Json& answer : oracle.answers["decode"]) {
      CAPTURE(oracle.name);
      CAPTURE(answer.dump());
      CHECK(oracle.tokenizer.decode(ids_of(answer)) == answer["decoded"].get<std::string>());
    }
  }
}

TEST_CASE("detokenizer: after every token the stream is the reference's text of that prefix") {
  for (const Oracle& oracle : published_oracles()) check_prefixes(oracle);
}

}  // namespace lanner::text::test
