// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "core/error.h"
#include "text/tokenizer_toy.h"

namespace lanner::text::test {
namespace {

/// What loading `file` complains about.
void check_refused(const std::string& file, ErrorKind kind, const std::string& part,
                   std::optional<std::string> config = std::nullopt) {
  CAPTURE(part);
  try {
    Tokenizer::parse(file, "tokenizer.json", config);
    FAIL_CHECK("the file was accepted");
  } catch (const Error& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(error.kind() == kind);
    CHECK(message.find(part) != std::string::npos);
    CHECK(message.starts_with("tokenizer"));
    CHECK(message.find('\n') == std::string::npos);
  }
}

/// The toy file with one field, named by JSON pointer, replaced.
std::string with(const std::string& pointer, io::Json value) {
  io::Json file = toy_json();
  file[io::Json::json_pointer(pointer)] = std::move(value);
  return file.dump();
}

}  // namespace

TEST_CASE("tokenizer: a missing file is not found") {
  try {
    Tokenizer::load("/nonexistent/tokenizer.json");
    FAIL_CHECK("loaded");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kNotFound);
    CHECK(std::string(error.what()).find("/nonexistent/tokenizer.json") != std::string::npos);
  }
}

TEST_CASE("tokenizer: text that is not complete JSON is corrupt, wherever it ends") {
  const std::string whole = toy_json().dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(Tokenizer::parse(whole.substr(0, size)), Error);
  }
  check_refused(whole.substr(0, 100), ErrorKind::kCorrupt, "byte 101");
  check_refused("", ErrorKind::kCorrupt, "is empty");
  check_refused("[]", ErrorKind::kCorrupt, "expected an object");
  check_refused(whole + "}", ErrorKind::kCorrupt, "tokenizer.json: line 1");
  check_refused(whole + std::string(1, '\0'), ErrorKind::kCorrupt, "zero byte");
  check_refused("version https://git-lfs.github.com/spec/v1\n", ErrorKind::kCorrupt, "git-lfs");
  check_refused(std::string(100000, '['), ErrorKind::kCorrupt, "nested deeper");
}

TEST_CASE("tokenizer: fields of the wrong type are corrupt and named") {
  check_refused(with("/model", 3), ErrorKind::kCorrupt, "model is 3 (number)");
  check_refused(with("/model/vocab", io::Json::array({1})), ErrorKind::kCorrupt, "model.vocab");
  check_refused(with("/model/vocab", io::Json::object()), ErrorKind::kCorrupt, "model.vocab");
  check_refused(with("/model/vocab/a", "1"), ErrorKind::kCorrupt, "model.vocab[\"a\"] is \"1\" (string)");
  check_refused(with("/model/vocab/a", 1.5), ErrorKind::kCorrupt, "model.vocab[\"a\"] is 1.5");
  check_refused(with("/model/vocab/a", io::Json::object()), ErrorKind::kCorrupt, "model.vocab[\"a\"]");
  check_refused(with("/model/merges/1", 7), ErrorKind::kCorrupt, "model.merges[1]");
  check_refused(with("/model/merges/1", "abc"), ErrorKind::kCorrupt, "model.merges[1]");
  check_refused(with("/model/merges/1", "a b c"), ErrorKind::kCorrupt, "model.merges[1]");
  check_refused(with("/model/merges/1", io::Json::array({"a"})), ErrorKind::kCorrupt, "model.merges[1]");
  check_refused(with("/model/merges/1", io::Json::array({"a", "b", "c"})), ErrorKind::kCorrupt,
                "model.merges[1]");
  check_refused(with("/model/merges/1", io::Json::array({"a", 2})), ErrorKind::kCorrupt, "model.merges[1]");
  check_refused(with("/added_tokens/0/content", 1), ErrorKind::kCorrupt, "added_tokens[0].content");
  check_refused(with("/added_tokens", 1), ErrorKind::kCorrupt, "added_tokens");
  check_refused(with("/normalizer", "NFC"), ErrorKind::kCorrupt, "normalizer");
  check_refused(with("/decoder", nullptr), ErrorKind::kCorrupt, "decoder is missing");
}

TEST_CASE("tokenizer: ids out of range, twice, or at odds are corrupt") {
  check_refused(with("/model/vocab/a", -1), ErrorKind::kCorrupt, "model.vocab[\"a\"] is -1");
  check_refused(with("/model/vocab/a", 5000000), ErrorKind::kCorrupt,
                "expected an integer from 0 to 4194303");
  check_refused(with("/model/vocab/a", 18446744073709551615u), ErrorKind::kCorrupt, "model.vocab[\"a\"]");
  check_refused(with("/model/vocab/a", 2), ErrorKind::kCorrupt, "an id that \"a\" has already");
  check_refused(with("/added_tokens/0/id", -3), ErrorKind::kCorrupt, "added_tokens[0].id");
  check_refused(with("/added_tokens/0/id", 3), ErrorKind::kCorrupt, "which belongs to \"c\"");
  check_refused(with("/added_tokens/0/content", "ab"), ErrorKind::kCorrupt, "the vocabulary gives it 7");
  std::string twice = toy_json().dump();
  twice.replace(twice.find("\"b\":2"), 5, "\"a\":2");
  check_refused(twice, ErrorKind::kCorrupt, "the second id of the same text");
}

TEST_CASE("tokenizer: merges and unk_token must be in the vocabulary") {
  check_refused(with("/model/merges/0", "a x"), ErrorKind::kCorrupt, "\"x\" is not in model.vocab");
  check_refused(with("/model/merges/0", "a c"), ErrorKind::kCorrupt, "model.merges[0] joins \"a\" and \"c\"");
  check_refused(with("/model/unk_token", "nope"), ErrorKind::kCorrupt, "model.unk_token");
}

TEST_CASE("tokenizer: unknown components are unsupported and named") {
  const auto type = [](const char* name) { return io::Json{{"type", name}}; };
  check_refused(with("/normalizer", type("Nmt")), ErrorKind::kUnsupported, "normalizer.type is \"Nmt\"");
  check_refused(with("/pre_tokenizer", type("Whitespace")), ErrorKind::kUnsupported, "pre_tokenizer.type");
  check_refused(with("/decoder", type("WordPiece")), ErrorKind::kUnsupported, "decoder.type");
  check_refused(with("/post_processor", type("RobertaProcessing")), ErrorKind::kUnsupported,
                "post_processor.type");
  check_refused(with("/model/type", "Unigram"), ErrorKind::kUnsupported, "model.type is \"Unigram\"");
  check_refused(with("/model/dropout", 0.1), ErrorKind::kUnsupported, "model.dropout");
  check_refused(with("/model/continuing_subword_prefix", "##"), ErrorKind::kUnsupported,
                "model.continuing_subword_prefix");
  check_refused(
      with("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {type("ByteLevel"), type("Digits")}}}),
      ErrorKind::kUnsupported, "pre_tokenizer.pretokenizers[1].type is \"Digits\"");
  check_refused(with("/decoder", {{"type", "Sequence"}, {"decoders", {type("Fuse"), type("ByteFallback")}}}),
                ErrorKind::kUnsupported, "decoder.decoders[1].type");
  check_refused(with("/pre_tokenizer", split_component("x", "Sideways")), ErrorKind::kUnsupported,
                "pre_tokenizer.behavior is \"Sideways\"");
  check_refused(with("/pre_tokenizer", split_component("/[a&&b]/", "Isolated")), ErrorKind::kUnsupported,
                "pre_tokenizer.pattern.Regex");
}

TEST_CASE("tokenizer: a config at odds with the file is corrupt") {
  const std::string file = toy_json().dump();
  check_refused(file, ErrorKind::kCorrupt, "tokenizer_config.json", "{");
  check_refused(file, ErrorKind::kCorrupt, "added_tokens_decoder.x is not a token id",
                R"({"added_tokens_decoder": {"x": {"content": "<x>"}}})");
  check_refused(file, ErrorKind::kCorrupt, "which belongs to \"<s>\"",
                R"({"added_tokens_decoder": {"14": {"content": "<other>"}}})");
}

TEST_CASE("tokenizer: text that is not UTF-8 is an invalid argument") {
  const Tokenizer tokenizer = toy_tokenizer(toy_json());
  CHECK_THROWS_WITH_AS(tokenizer.encode("ab\xFF"), "the text is not UTF-8: byte 2 is 0xFF", Error);
  CHECK_THROWS_AS(tokenizer.encode("\xED\xA0\x80"), Error);
}

}  // namespace lanner::text::test
