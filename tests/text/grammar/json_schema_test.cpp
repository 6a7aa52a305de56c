// SPDX-License-Identifier: MIT
#include "text/grammar/json_schema.h"

#include <doctest/doctest.h>

#include <ctime>

#include "core/error.h"
#include "text/grammar/grammar_vocabularies.h"
#include "text/grammar/json_validator.h"
#include "text/grammar/random_schema.h"

using namespace lanner;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;
using Json = nlohmann::ordered_json;

namespace {

std::shared_ptr<const Grammar> schema_grammar(const Json& schema, Vocabulary vocabulary = byte_vocabulary(),
                                              const JsonSchemaOptions& options = {}) {
  return make_grammar(json_schema_grammar(schema, options), std::move(vocabulary));
}

std::string error_of(const Json& schema, SchemaMode mode = SchemaMode::kLenient) {
  try {
    schema_grammar(schema, byte_vocabulary(), {.mode = mode});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Case {
  const char* schema;
  std::vector<std::string> yes, no;
};

void check_cases(const std::vector<Case>& cases) {
  for (const Case& it : cases) {
    CAPTURE(it.schema);
    const auto grammar = schema_grammar(Json::parse(it.schema));
    for (const std::string& text : it.yes) CHECK_MESSAGE(grammar->accepts(text), text);
    for (const std::string& text : it.no) CHECK_MESSAGE(!grammar->accepts(text), text);
  }
}

}  // namespace

TEST_CASE(
    "json schema: random instances are accepted, and random walks end in texts that a validator accepts") {
  std::vector<Vocabulary> vocabularies = tale_vocabularies();
  vocabularies.push_back(
      byte_vocabulary({"\": \"", "\", \"", "{\"", "\"}", "}}", "},", "12", ".5", "true", "\\u00", "ab"}));
  std::size_t walks = 0, unfinished = 0, instances = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const Json schema = random_schema(dice);
    CAPTURE(schema.dump());
    const auto grammar = schema_grammar(schema, vocabularies[seed % vocabularies.size()]);
    for (int i = 0; i < 4; ++i) {
      const Json value = random_instance(dice, schema, schema);
      if (!satisfies(value, schema, schema))
        continue;  // A random anyOf or reference the maker cannot see through.
      ++instances;
      for (const std::string& text : {value.dump(), value.dump(2), value.dump(4)}) {
        CAPTURE(text);
        CHECK(grammar->accepts(text));
      }
    }
    for (int i = 0; i < 2; ++i) {
      const std::string text = random_text(grammar, dice, 15);
      if (text.empty()) {
        ++unfinished;
        continue;
      }
      ++walks;
      CAPTURE(text);
      Json value;
      REQUIRE_NOTHROW(value = Json::parse(text));
      CHECK(satisfies(value, schema, schema));
    }
  }
  MESSAGE(instances << " instances, " << walks << " walks, " << unfinished << " without an end");
  CHECK(instances > 350);
  CHECK(walks > 100);
}

TEST_CASE("json schema: scalars") {
  check_cases({
      {R"({"type":"integer","minimum":-5,"maximum":12})",
       {"-5", "0", "12", "7"},
       {"-6", "13", "1.0", "01", "-0", "\"1\""}},
      {R"({"type":"integer","exclusiveMinimum":99,"exclusiveMaximum":1000})",
       {"100", "999"},
       {"99", "1000", "5"}},
      {R"({"type":"integer","maximum":-7})", {"-7", "-100"}, {"-6", "0", "7"}},
      {R"({"type":"integer","multipleOf":7,"minimum":10})", {"14", "70", "700000"}, {"7", "13", "0"}},
      {R"({"type":"integer","multipleOf":3600,"minimum":0,"maximum":1000000})",
       {"0", "3600", "86400", "997200"},
       {"360", "3601", "1000800", "-3600"}},
      {R"({"type":"integer","multipleOf":4096})", {"8192", "-4096", "40960000"}, {"4095", "2048", "4096.0"}},
      {R"({"type":"integer","multipleOf":1000000})", {"0", "3000000"}, {"300000", "3000001"}},
      {R"({"type":"number","minimum":0.25,"exclusiveMaximum":3})",
       {"0.25", "0.3", "2.999", "1"},
       {"0.2", "3", "3.0", "0.249"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.001", "17"}, {"0", "0.0", "-1"}},
      {R"({"type":"number","maximum":-1.5})", {"-1.5", "-2", "-1.51"}, {"-1.49", "0", "-1"}},
      {R"({"type":"number","multipleOf":0.01})", {"1.25", "3", "-0.10"}, {"1.255"}},
      {R"({"type":"number"})",
       {"0", "-1.5e-7", "1E+10", "12345678901234567"},
       {"+1", ".5", "1.", "NaN", "1e9999"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("é€😀")", R"("\n\"")", R"("\ud83d\ude00a")"},
       {R"("a")", R"("abcd")", R"("\ud83da")"}},
      {R"({"type":"string"})", {R"("")", R"("\/\u00e9")"}, {"\"\n\"", "\"\\x\"", "\"\\ude00\"", "\"a"}},
      {R"({"type":"string","pattern":"^\\d{3}$"})", {R"("123")"}, {R"("12")", R"("1234")"}},
      {R"({"type":"string","pattern":"a\"b"})", {R"("xa\"by")"}, {R"("ab")"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("1999-12-31")"},
       {R"("2023-02-29")", R"("2024-13-01")", R"("2024-04-31")"}},
      {R"({"type":"string","format":"date-time"})",
       {R"("2024-02-29T23:59:59.5Z")", R"("2024-01-01T00:00:00+01:30")"},
       {R"("2024-01-01")", R"("2024-01-01T24:00:00Z")"}},
      {R"({"type":"string","format":"uuid"})",
       {R"("123e4567-e89b-12d3-a456-426614174000")"},
       {R"("123e4567")"}},
      {R"({"type":"string","format":"ipv4"})", {R"("192.168.0.1")"}, {R"("256.1.1.1")", R"("1.1.1")"}},
      {R"({"type":"string","format":"ipv6"})",
       {R"("::1")", R"("2001:db8::8a2e:370:7334")", R"("::")"},
       {R"("1::2::3")", R"("12345::")"}},
      {R"({"type":"string","format":"email"})", {R"("a.b+c@example.com")"}, {R"("a@")", R"("@b.c")"}},
      {R"({"type":"string","format":"duration"})",
       {R"("P1DT2H")", R"("P3W")", R"("PT5M")"},
       {R"("P")", R"("PT")", R"("1D")"}},
      {R"({"type":"string","format":"uri"})", {R"("https://example.com/a?b=c#d")"}, {R"("example.com")"}},
      {R"({"enum":["a\"b",1,null,{"x":[1,2]}]})",
       {R"("a\"b")", "1", "null", R"({"x":[1,2]})"},
       {"2", "\"a\""}},
      {R"({"enum":["red","green",3,4],"type":"string","minLength":4})", {R"("green")"}, {R"("red")", "3"}},
      {R"({"const":"x"})", {R"("x")"}, {R"("y")"}},
      {R"({"type":["string","null"]})", {"null", R"("a")"}, {"1"}},
      {R"(true)", {"1", "{}", R"([{"a":[]}])"}, {"", "tru"}},
  });
}

TEST_CASE("json schema: arrays, objects and combinations") {
  check_cases({
      {R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
       {"[1]", "[1,2,3]", "[1, 2]"},
       {"[]", "[1,2,3,4]", "[\"a\"]", "[1,]"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
       {"[]", "[1]", R"([1,"a"])"},
       {R"(["a"])", R"([1,"a",2])"}},
      {R"({"type":"array","items":{"type":"boolean"},"minItems":99999})", {}, {"[]", "[true]"}},
      {R"({"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"],"additionalProperties":false})",
       {R"({"a":1,"b":"x"})", R"({"b":"x"})", "{\n  \"b\": \"x\"\n}"},
       {R"({"a":1})", R"({"b":"x","a":1})", R"({"b":"x","c":1})", "{}", R"({"b" :"x"})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"}}})",
       {"{}", R"({"a":1})", R"({"z":[1,{}]})", R"({"a":1,"ab":2})"},
       {R"({"a":"x"})", R"({"z":1,"a":"x"})", R"({"\u0061":"x"})"}},
      {R"({"type":"object","patternProperties":{"^i_":{"type":"integer"},"^s_":{"type":"string"}},"additionalProperties":false})",
       {"{}", R"({"i_a":1,"s_b":"x"})"},
       {R"({"i_a":"x"})", R"({"other":1})"}},
      {R"({"type":"object","propertyNames":{"enum":["x","y"]},"additionalProperties":{"type":"integer"}})",
       {"{}", R"({"x":1,"y":2})"},
       {R"({"z":1})", R"({"x":"1"})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2})",
       {R"({"a":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"a":1,"b":2,"c":3})"}},
      {R"({"properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,"minProperties":2,"maxProperties":2})",
       {R"({"a":1,"b":2})", R"({"a":1,"c":2})", R"({"b":1,"c":2})"},
       {R"({"a":1})", R"({"a":1,"b":2,"c":3})", "{}"}},
      {R"({"required":["z"],"properties":{"a":{"type":"null"}}})",
       {R"({"z":1})", R"({"a":null,"z":{}})"},
       {"{}", R"({"a":null})"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"]},{"properties":{"a":{"maximum":5},"b":{"type":"string"}}}],"unevaluatedProperties":false})",
       {R"({"a":4})", R"({"a":3,"b":"x"})"},
       {R"({"a":2})", R"({"a":6})", R"({"a":4,"c":1})"}},
      {R"({"type":"object","properties":{"k":{"const":1}},"required":["k"],"anyOf":[{"properties":{"x":{"type":"integer"}},"required":["x"]},{"properties":{"y":{"type":"string"}},"required":["y"]}],"unevaluatedProperties":false})",
       {R"({"k":1,"x":2})", R"({"k":1,"y":"s"})"},
       {R"({"k":1})", R"({"k":2,"x":2})"}},
      {R"({"oneOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"1", R"("a")"},
       {R"("ab")", "null"}},
      {R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}})",
       {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":{"v":3,"next":null}}})"},
       {R"({"v":1})", R"({"v":1,"next":{}})"}},
      {R"({"type":"object","properties":{"c":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false})",
       {R"({"c":[{"c":[]},{}]})"},
       {R"({"c":[1]})"}},
      {R"({"$ref":"other","$defs":{"o":{"$anchor":"x","$id":"other","type":"integer"}}})", {"1"}, {"\"a\""}},
      {R"({"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{"type":"null"}}})", {"null"}, {"1"}},
  });
}

TEST_CASE(
    "json schema: white space is bounded, and none stands before the first or behind the last character") {
  const auto grammar = json_object_grammar();
  const auto flexible = make_grammar(grammar, byte_vocabulary());
  CHECK(flexible->accepts("{\n    \"a\": [\n        1,\n        2\n    ]\n}"));
  CHECK(flexible->accepts("{ \"a\": 1 }"));
  for (const char* text :
       {" {}", "{} ", "{  }", "{\n\n}", "{\n     \"a\":1}", "{\"a\" :1}", "{\"a\":  1}", "{\t}", "[]", "1"})
    CHECK_MESSAGE(!flexible->accepts(text), text);
  const auto compact = make_grammar(json_object_grammar(JsonWhitespace::kCompact), byte_vocabulary());
  CHECK(compact->accepts(R"({"a":[1,{"b":""}]})"));
  CHECK_FALSE(compact->accepts(R"({"a": 1})"));
  // A model that takes blanks whenever it may still closes the document.
  const Json nested = Json::parse(
      R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":
      {"type":"object","properties":{"c":{"enum":[1,2]}},"required":["c"],"additionalProperties":false},"minItems":2,"maxItems":2}},
      "required":["b"],"additionalProperties":false}},"required":["a"],"additionalProperties":false})");
  Matcher matcher(schema_grammar(nested));
  std::string text;
  while (!matcher.can_end()) {
    REQUIRE(text.size() < 400);
    const std::vector<TokenId> allowed = allowed_tokens(matcher);
    TokenId token = allowed.front();
    for (const char blank : {' ', '\n'})
      if (matcher.allows(blank)) token = blank;
    REQUIRE(matcher.accept(token));
    text += static_cast<char>(token);
  }
  CHECK(Json::accept(text));
}

TEST_CASE("json schema: errors name the place") {
  CHECK(error_of(Json::parse(R"({"properties":{"a/b":{"pattern":"("}}})")) ==
        "schema#/properties/a~1b/pattern: line 1, column 1 (byte 1): the group has no closing )");
  CHECK(error_of(Json::parse(R"j({"properties":{"a":{"pattern":"(?=x)"}}})j")).find("looking around") !=
        std::string::npos);
  CHECK(error_of(Json::parse(R"({"properties":{"a":{"type":"text"}}})")) ==
        "schema#/properties/a/type: is \"text\", expected the name of a JSON type");
  CHECK(error_of(Json::parse(R"({"$ref":"#/$defs/N","$defs":{"N":{"$ref":"#/$defs/N"}}})")) ==
        "schema#/$defs/N/$ref: refers to itself without an end");
  CHECK(error_of(Json::parse(R"({"$ref":"https://example.com/x.json"})")).find("other documents") !=
        std::string::npos);
  CHECK(error_of(Json::parse(R"({"$ref":"#/nowhere"})")).find("leads to nothing") != std::string::npos);
  CHECK(
      error_of(Json::parse(R"({"type":"array","minItems":18446744073709551615})")).find("schema#/minItems") ==
      0);
  CHECK(error_of(Json::parse(
            R"({"type":"array","items":{"type":"null"},"maxItems":18446744073709551615})")) == "no error");
  CHECK(error_of(Json::parse(R"({"type":"string","minLength":5,"maxLength":4})")).find("no text satisfies") !=
        std::string::npos);
  CHECK(error_of(Json::parse(R"({"minimum":"a"})")).find("expected a number") != std::string::npos);
  CHECK(error_of(Json::parse(R"([1])")).find("expected a schema") != std::string::npos);
  CHECK(error_of(Json(false)).find("no text satisfies") != std::string::npos);
  Json deep = true;
  for (int i = 0; i < 70; ++i) deep = Json{{"items", deep}};
  CHECK(error_of(deep).find("nests deeper") != std::string::npos);
}

TEST_CASE("json schema: strict mode refuses what it cannot enforce, lenient mode warns") {
  const Json schema = Json::parse(
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"},"uniqueItems":true}},
      "required":["a"],"additionalProperties":false})");
  CHECK(error_of(schema, SchemaMode::kStrict) ==
        "schema#/properties/a/uniqueItems: this keyword is not enforced");
  std::vector<std::string> warnings;
  json_schema_grammar(schema, {}, &warnings);
  CHECK(warnings ==
        std::vector<std::string>{"schema#/properties/a/uniqueItems: this keyword is not enforced; ignored"});
  const auto strict = [](const char* text) { return error_of(Json::parse(text), SchemaMode::kStrict); };
  CHECK(strict(R"({"type":"array"})").find("schema#/type") == 0);
  CHECK(strict(R"({"anyOf":[]})").find("schema#/anyOf") == 0);
  CHECK(strict(R"({"type":"object","properties":{"a":{}}})").find("schema#/additionalProperties") == 0);
  CHECK(strict(R"({"type":"object","properties":{"a":{}},"additionalProperties":false})")
            .find("schema#/required") == 0);
  CHECK(
      strict(
          R"({"type":"object","properties":{"a":{"format":"odd"}},"required":["a"],"additionalProperties":false})")
          .find("schema#/properties/a/format") == 0);
  CHECK(
      strict(
          R"({"type":"object","properties":{"a":{"type":["integer","null"]}},"required":["a"],"additionalProperties":false})") ==
      "no error");
}

TEST_CASE("json schema: bombs are refused or work, quickly") {
  Json nested = Json{{"type", "null"}};
  for (int i = 0; i < 30; ++i)
    nested = Json{{"oneOf", Json::array({nested, Json{{"type", "integer"}, {"minimum", i}}})}};
  Json values = Json::array();
  for (int i = 0; i < 10'000; ++i) values.push_back("value number " + std::to_string(i * 7919));
  Json many = Json{{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 3000; ++i)
    many["properties"]["property" + std::to_string(i)] = Json{{"type", "integer"}};
  Json too_many = Json{{"enum", values}};
  for (int i = 0; i < 10; ++i) too_many["enum"].push_back(i);
  Json chain = Json{{"$ref", "#/$defs/n0"}, {"$defs", Json::object()}};
  for (int i = 0; i < 2000; ++i)
    chain["$defs"]["n" + std::to_string(i)] =
        Json{{"type", "array"}, {"items", Json{{"$ref", "#/$defs/n" + std::to_string((i + 1) % 2000)}}}};
  Json powers = Json{{"type", "object"}, {"allOf", Json::array()}};
  for (int i = 0; i < 40; ++i)
    powers["allOf"].push_back(
        Json{{"anyOf", Json::array({Json{{"minLength", i}}, Json{{"maxLength", 90 - i}}})}});
  const std::vector<Json> bombs = {nested, Json{{"enum", values}}, many, too_many, chain, powers};
  for (const Json& schema : bombs) {
    const std::clock_t begin = std::clock();
    const std::string error = error_of(schema);
    CHECK_MESSAGE(std::clock() - begin < 2 * CLOCKS_PER_SEC, schema.dump().substr(0, 80) << error);
  }
  CHECK(error_of(too_many).find("more than 10000 enum values") != std::string::npos);
  CHECK(error_of(powers).find("combinations of alternatives") != std::string::npos);
  CHECK(schema_grammar(Json{{"enum", values}})->accepts(values[77].dump()));
}
