// SPDX-License-Identifier: MIT
#include "text/detokenizer.h"

#include <doctest/doctest.h>

#include <random>

#include "text/tokenizer_oracle.h"

namespace lanner::text::test {
namespace {

TokenId byte_token(const Tokenizer& tokenizer, int byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const std::string name = {'<',
                            '0',
                            'x',
                            kDigits[static_cast<std::size_t>(byte >> 4)],
                            kDigits[static_cast<std::size_t>(byte & 15)],
                            '>'};
  return tokenizer.token_id(name).value();
}

/// Random ids, every third a byte token where the vocabulary has them.
std::vector<TokenId> random_ids(const Tokenizer& tokenizer, std::mt19937& random, std::size_t count) {
  std::vector<TokenId> ids;
  const bool has_bytes = tokenizer.token_id("<0x00>").has_value();
  while (ids.size() < count) {
    if (has_bytes && random() % 3 == 0) {
      ids.push_back(byte_token(tokenizer, static_cast<int>(random() % 256)));
    } else {
      ids.push_back(static_cast<TokenId>(random() % tokenizer.vocab_size()));
    }
  }
  return ids;
}

std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, DecodeOptions options) {
  Detokenizer detokenizer(tokenizer, options);
  std::string text;
  for (TokenId id : ids) {
    detokenizer.push(id, text);
    CHECK(find_invalid_utf8(text) == std::string::npos);
  }
  return text + detokenizer.finish();
}

}  // namespace

TEST_CASE("detokenizer: what has come out is never taken back, whatever follows") {
  std::mt19937 random(1);
  for (const Oracle& oracle : tale_oracles()) {
    for (int round = 0; round < 200; ++round) {
      const std::vector<TokenId> ids = random_ids(oracle.tokenizer, random, 20);
      Detokenizer detokenizer(oracle.tokenizer);
      std::string text;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        detokenizer.push(ids[i], text);
        const std::string now = oracle.tokenizer.decode(std::span(ids).first(i + 1));
        CHECK(now.starts_with(text));
        CHECK(text + Detokenizer(detokenizer).finish() == now);
      }
    }
  }
}

TEST_CASE("detokenizer: a stream of the oracle's ids is the oracle's text") {
  for (const Oracle& oracle : tale_oracles()) {
    for (const io::Json& answer : oracle.answers["cases"]) {
      CHECK(stream(oracle.tokenizer, ids_of(answer), {}) == answer["decoded"].get<std::string>());
      CHECK(stream(oracle.tokenizer, ids_of(answer), {SpecialTokens::kSkip}) ==
            answer["decoded_skip_special"].get<std::string>());
    }
  }
}

TEST_CASE("detokenizer: byte tokens become characters when the run ends, or one U+FFFD each") {
  const Oracle gemma = std::move(tale_oracles().front());
  Detokenizer detokenizer(gemma.tokenizer);
  const auto push_byte = [&](int byte) { return detokenizer.push(byte_token(gemma.tokenizer, byte)); };
  const TokenId letter = gemma.tokenizer.token_id("a").value();
  CHECK(push_byte(0xC3) == "");
  CHECK(push_byte(0xA9) == "");
  CHECK(detokenizer.push(letter) == "éa");
  CHECK(push_byte(0xE2) == "");
  CHECK(push_byte(0x41) == "\uFFFD\uFFFD");
  CHECK(push_byte(0x41) == "\uFFFD");
  CHECK(detokenizer.push(letter) == "a");
  CHECK(push_byte(0xF0) == "");
  CHECK(detokenizer.holds_text());
  CHECK(detokenizer.finish() == "\uFFFD");
  CHECK_FALSE(detokenizer.holds_text());
}

TEST_CASE("detokenizer: a character cut short ends as one U+FFFD in byte-level vocabularies") {
  const Oracle qwen = std::move(tale_oracles().back());
  Detokenizer detokenizer(qwen.tokenizer);
  const auto push_byte = [&](const char* spelled) {
    return detokenizer.push(qwen.tokenizer.token_id(spelled).value());
  };
  CHECK(push_byte("ð") == "");
  CHECK(push_byte("Ł") == "");
  CHECK(push_byte("a") == "\uFFFDa");
  CHECK(push_byte("Ã") == "");
  CHECK(push_byte("©") == "é");
  CHECK(push_byte("Ã") == "");
  CHECK(detokenizer.finish() == "\uFFFD");
}

TEST_CASE("detokenizer: ids without a token add nothing") {
  for (const Oracle& oracle : tale_oracles()) {
    Detokenizer detokenizer(oracle.tokenizer);
    CHECK(detokenizer.push(-1) == "");
    CHECK(detokenizer.push(static_cast<TokenId>(oracle.tokenizer.vocab_size())) == "");
    CHECK(detokenizer.finish() == "");
  }
}

TEST_CASE("tokenizer: the bytes of tokens, joined, are the bytes of the text") {
  for (const Oracle& oracle : tale_oracles()) {
    for (const std::string text : {"né 👩‍🚀 ďábel 漢", " a\n\n\tb ", "𠮷"}) {
      std::string bytes;
      for (TokenId id : oracle.tokenizer.encode(text)) bytes += oracle.tokenizer.token_bytes(id);
      CHECK(bytes == text);
    }
  }
}

}  // namespace lanner::text::test
