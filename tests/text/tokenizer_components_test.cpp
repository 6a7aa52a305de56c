// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "io/fields.h"
#include "text/bpe_byte_alphabet.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_pattern.h"
#include "text/tokenizer_toy.h"

namespace lanner::text::test {
namespace {

using Strings = std::vector<std::string>;

std::string normalized(const io::Json& component, std::string_view text) {
  const io::Json file = {{"normalizer", component}};
  std::string storage;
  return std::string(Normalizer::parse(io::Fields(file, "test"), "normalizer").apply(text, storage));
}

Strings pieces_of(const io::Json& component, std::string_view text) {
  const io::Json file = {{"pre_tokenizer", component}};
  Pieces pieces;
  PreTokenizer::parse(io::Fields(file, "test"), "pre_tokenizer").split({text, true}, pieces);
  Strings texts;
  for (const Piece& piece : pieces.list) texts.emplace_back(piece.text);
  return texts;
}

Strings matches_of(std::string_view expression, std::string_view text) {
  const TextPattern pattern = TextPattern::regex(expression, "test");
  TextPattern::Search search(pattern, text);
  Strings found;
  while (const auto match = search.next())
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
  return found;
}

}  // namespace

TEST_CASE("normalizer: each type changes text as in the reference") {
  const io::Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  const io::Json collapse = {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}};
  CHECK(normalized(nullptr, "a b") == "a b");
  CHECK(normalized(replace, " a b ") == "▁a▁b▁");
  CHECK(normalized(collapse, "a   b  c d") == "a b c d");
  CHECK(normalized({{"type", "Prepend"}, {"prepend", "▁"}}, "a") == "▁a");
  CHECK(normalized({{"type", "Prepend"}, {"prepend", "▁"}}, "") == "");
  CHECK(normalized({{"type", "Lowercase"}}, "ÀBC İ") == "àbc i\u0307");
  CHECK(normalized({{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, " \u3000a ") == "a ");
  CHECK(normalized({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}, " a\u2003\n") == " a");
  CHECK(normalized({{"type", "NFC"}}, "e\u0301 \u1E9B\u0323") == "é \u1E9B\u0323");
  CHECK(normalized({{"type", "NFD"}}, "é") == "e\u0301");
  CHECK(normalized({{"type", "NFKC"}}, "ﬁ①") == "fi1");
  CHECK(normalized({{"type", "NFKD"}}, "ﬁé") == "fie\u0301");
  const io::Json both = {{"type", "Sequence"}, {"normalizers", {collapse, replace}}};
  CHECK(normalized(both, "a   b") == "a▁b");
}

TEST_CASE("pre-tokenizer: split behaviors keep, drop or attach the matches") {
  CHECK(pieces_of(split_component("-", "Isolated"), "a--b-") == Strings{"a", "-", "-", "b", "-"});
  CHECK(pieces_of(split_component("-", "Removed"), "a--b-") == Strings{"a", "b"});
  CHECK(pieces_of(split_component("-", "MergedWithPrevious"), "a--b-") == Strings{"a-", "-", "b-"});
  CHECK(pieces_of(split_component("-", "MergedWithNext"), "a--b-") == Strings{"a", "-", "-b", "-"});
  CHECK(pieces_of(split_component("-", "Contiguous"), "a--b-") == Strings{"a", "--", "b", "-"});
  CHECK(pieces_of(split_component("-", "MergedWithPrevious"), "-a") == Strings{"-", "a"});
  CHECK(pieces_of(split_component("-", "Isolated"), "") == Strings{});
  CHECK(pieces_of(split_component("", "Isolated"), "ab") == Strings{"ab"});
}

TEST_CASE("pre-tokenizer: an inverted split takes what lies between the matches for the matches") {
  io::Json words = split_component("/[a-z]+/", "Removed");
  words["invert"] = true;
  CHECK(pieces_of(words, "ab, cd!") == Strings{"ab", "cd"});
}

TEST_CASE("pre-tokenizer: an empty match cuts without taking anything") {
  CHECK(pieces_of(split_component("/(?=[A-Z])/", "Isolated"), "helloWorldX") ==
        Strings{"hello", "World", "X"});
  CHECK(pieces_of(split_component("/(?=[A-Z])/", "Contiguous"), "helloWorld") == Strings{"hello", "World"});
}

TEST_CASE("pre-tokenizer: digits, Metaspace and ByteLevel cut as in the reference") {
  CHECK(pieces_of({{"type", "Digits"}, {"individual_digits", true}}, "a12b") == Strings{"a", "1", "2", "b"});
  CHECK(pieces_of({{"type", "Digits"}, {"individual_digits", false}}, "a12½b") == Strings{"a", "12½", "b"});
  const io::Json metaspace = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}};
  CHECK(pieces_of(metaspace, "a  b") == Strings{"▁a", "▁", "▁b"});
  io::Json whole = metaspace;
  whole["split"] = false;
  whole["prepend_scheme"] = "never";
  CHECK(pieces_of(whole, "a b") == Strings{"a▁b"});
  const io::Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", true}};
  CHECK(pieces_of(byte_level, "it's 12  x") == Strings{" it", "'s", " 12", " ", " x"});
  const io::Json sequence = {{"type", "Sequence"},
                             {"pretokenizers", {split_component("-", "Isolated"), {{"type", "Digits"}}}}};
  CHECK(pieces_of(sequence, "a1-2") == Strings{"a", "1", "-", "2"});
}

TEST_CASE("pattern: white space is Unicode's, not PCRE2's") {
  CHECK(matches_of(R"(\s)", "\u0085\u00A0\u1680\u2028\u3000").size() == 5);
  CHECK(matches_of(R"(\s)", "\u180E\u200B\uFEFF").empty());
  CHECK(matches_of(R"([^\s]+)", "a\u180E b") == Strings{"a\u180E", "b"});
  CHECK(matches_of(R"(\S+)", "a\u2003b") == Strings{"a", "b"});
}

TEST_CASE("pattern: expressions are translated from Oniguruma's dialect or refused") {
  CHECK(pcre2_expression(R"(\h+[\h_])") == R"([0-9a-fA-F]+[0-9a-fA-F_])");
  CHECK(pcre2_expression(R"([^\s]\\s)") == R"([^\p{White_Space}]\\s)");
  CHECK(pcre2_expression("[[:alpha:]x]") == "[[:alpha:]x]");
  CHECK(pcre2_expression("[a-z&&[^b]]") == std::nullopt);
  CHECK(pcre2_expression("[a[b]]") == std::nullopt);
  CHECK(pcre2_expression("(*LIMIT_MATCH=1)a") == std::nullopt);
  CHECK_THROWS_WITH_AS(TextPattern::regex("(", "file: field"), doctest::Contains("file: field is \"(\""),
                       Error);
}

TEST_CASE("pattern: an expression that explodes is an error, not a hang") {
  const TextPattern pattern = TextPattern::regex("(?:a|aa)+$", "test");
  const std::string text = std::string(60, 'a') + '!';
  TextPattern::Search search(pattern, text);
  CHECK_THROWS_AS(search.next(), Error);
}

TEST_CASE("byte alphabet: every byte has its own character and comes back") {
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<unsigned char>(value);
    CHECK(byte_level_byte(byte_level_character(byte)) == byte);
  }
  CHECK(to_byte_level(" a\n") == "ĠaĊ");
  CHECK(from_byte_level("Ġé") == " \xE9");
  CHECK(from_byte_level("two words") == "two words");
  CHECK(fallback_byte("<0x0A>") == '\n');
  CHECK(fallback_byte("<0xZZ>") == std::nullopt);
  CHECK(fallback_token(0xE2) == "<0xE2>");
}

TEST_CASE("model: merges may be strings or pairs, and a later duplicate counts") {
  CHECK(spell(toy_tokenizer(toy_json()), "abcab") == Strings{"abc", "ab"});
  io::Json file = toy_json();
  file["model"]["vocab"]["bc"] = 15;
  file["model"]["merges"] = {"a b", "b c", "a b"};
  CHECK(spell(toy_tokenizer(file), "abc") == Strings{"a", "bc"});
}

TEST_CASE("model: characters without a token become unk_token, fused or not, or byte tokens") {
  io::Json file = toy_json();
  CHECK(spell(toy_tokenizer(file), "axyab") == Strings{"a", "<unk>", "<unk>", "ab"});
  file["model"]["fuse_unk"] = true;
  CHECK(spell(toy_tokenizer(file), "axyab") == Strings{"a", "<unk>", "ab"});
  file["model"]["byte_fallback"] = true;
  file["model"]["vocab"]["<0x78>"] = 15;
  CHECK(spell(toy_tokenizer(file), "xab") == Strings{"<0x78>", "ab"});
  CHECK(spell(toy_tokenizer(file), "ay") == Strings{"a", "<unk>"});
  file["model"]["unk_token"] = nullptr;
  CHECK(spell(toy_tokenizer(file), "ayb") == Strings{"ab"});
}

TEST_CASE("model: ignore_merges keeps a piece that is a token whole") {
  io::Json file = toy_json();
  file["model"]["vocab"]["cab"] = 15;
  CHECK(spell(toy_tokenizer(file), "cab") == Strings{"c", "ab"});
  file["model"]["ignore_merges"] = true;
  CHECK(spell(toy_tokenizer(file), "cab") == Strings{"cab"});
  CHECK(spell(toy_tokenizer(file), "cabc") == Strings{"c", "abc"});
}

TEST_CASE("decoder: a Llama-style sequence replaces, fuses and strips the start of the text once") {
  io::Json file = toy_json();
  file["decoder"] = io::Json::parse(R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  const Tokenizer tokenizer = toy_tokenizer(file);
  CHECK(tokenizer.decode(std::vector<TokenId>{6, 6, 1, 6, 2}) == " a b");
  CHECK(tokenizer.decode(std::vector<TokenId>{1, 6}) == "a ");
}

TEST_CASE("decoder: a Strip before Fuse acts on every token") {
  io::Json file = toy_json();
  file["decoder"] = {{"type", "Strip"}, {"content", "b"}, {"start", 0}, {"stop", 1}};
  CHECK(toy_tokenizer(file).decode(std::vector<TokenId>{7, 2, 3}) == "ac");
}

TEST_CASE("post-processor: the template's tokens surround the text on request") {
  io::Json file = toy_json();
  file["post_processor"] = io::Json::parse(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
      {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "end", "type_id": 0}}], "pair": [],
     "special_tokens": {"<s>": {"id": "<s>", "ids": [14], "tokens": ["<s>"]},
                        "end": {"id": "end", "ids": [13, 11], "tokens": ["\n", "."]}}}]})");
  const Tokenizer tokenizer = toy_tokenizer(file);
  CHECK(tokenizer.encode("a") == std::vector<TokenId>{1});
  CHECK(tokenizer.encode("a", {.surround = Surround::kPostProcessor}) == std::vector<TokenId>{14, 1, 13, 11});
}

}  // namespace lanner::text::test
