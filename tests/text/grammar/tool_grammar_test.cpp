// SPDX-License-Identifier: MIT
#include "text/grammar/tool_grammar.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "text/grammar/grammar_vocabularies.h"
#include "text/grammar/json_validator.h"
#include "text/output_parser.h"

using namespace lanner;
using namespace lanner::text;
using namespace lanner::text::grammar;
using namespace lanner::text::grammar::test;
using Json = nlohmann::ordered_json;

namespace {

const Json& tools() {
  static const Json kTools = Json::parse(R"([
    {"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{
        "city":{"type":"string","minLength":1},"days":{"type":"integer","minimum":1,"maximum":14},
        "unit":{"enum":["C","F"]},"fine-print":{"type":"boolean"}},"required":["city","days"]}}},
    {"type":"function","function":{"name":"plan","parameters":{"type":"object","properties":{
        "stops":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string"},"n":{"type":"number"}},
        "required":["at"]},"minItems":1,"maxItems":3},"note":{"type":["string","null"]}},"required":["stops","note"]}}},
    {"type":"function","function":{"name":"now"}}])");
  return kTools;
}

struct Family {
  OutputFormat format;
  Vocabulary vocabulary;
};

std::vector<Family> families() {
  std::vector<Family> result;
  for (const Vocabulary& vocabulary : tale_vocabularies())
    result.push_back(
        {vocabulary->marker("<tool_call>") ? OutputFormat::kQwen35 : OutputFormat::kGemma4, vocabulary});
  return result;
}

std::shared_ptr<const Grammar> grammar_of(const Family& family, const ToolGrammarOptions& options) {
  return make_grammar(tool_call_grammar(family.format, tools(), options, *family.vocabulary),
                      family.vocabulary);
}

/// Takes the text, in which markers are spelled out, as bytes and markers.
bool accept_answer(Matcher& matcher, std::string_view text) {
  const GrammarVocabulary& vocabulary = matcher.grammar().vocabulary();
  while (!text.empty()) {
    TokenId id = -1;
    std::size_t length = 1;
    for (const GrammarVocabulary::Marker& marker : vocabulary.markers())
      if (text.starts_with(marker.name)) id = marker.id, length = marker.name.size();
    for (std::size_t i = 0; id < 0 && i < vocabulary.size(); ++i)
      if (vocabulary.text(static_cast<TokenId>(i)) == text.substr(0, 1)) id = static_cast<TokenId>(i);
    if (id < 0 || !matcher.accept(id)) return false;
    text.remove_prefix(length);
  }
  return true;
}

struct Answer {
  std::string content;
  std::vector<std::pair<std::string, std::string>> calls;  ///< Names and arguments.
};

Answer parse_answer(const Family& family, const std::vector<TokenId>& tokens, const Json& declared) {
  const auto lookup = [&](std::string_view name) { return family.vocabulary->marker(name); };
  OutputParser parser(family.format, lookup, {}, {declared});
  Answer answer;
  const auto take = [&](const std::vector<OutputEvent>& events) {
    for (const OutputEvent& event : events) {
      if (event.kind == OutputEvent::Kind::kContent || event.kind == OutputEvent::Kind::kToolBroken)
        answer.content += event.text;
      if (event.kind == OutputEvent::Kind::kToolStart) answer.calls.emplace_back(event.text, "");
      if (event.kind == OutputEvent::Kind::kToolArguments) answer.calls.back().second += event.text;
    }
  };
  for (const TokenId id : tokens) take(parser.push(id, family.vocabulary->text(id)));
  take(parser.finish());
  return answer;
}

/// Both families over single bytes.
std::vector<Family> byte_families() {
  std::vector<TokenBytes> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back({byte, std::string(1, static_cast<char>(byte))});
  TokenId next = 256;
  std::vector<GrammarVocabulary::Marker> markers;
  for (const char* name : {"<|tool_call>", "<tool_call|>", "<|\"|>", "<tool_call>", "</tool_call>", "<think>",
                           "</think>", "<|channel>", "<channel|>", "<end>"})
    markers.push_back({next++, name});
  const auto vocabulary = std::make_shared<GrammarVocabulary>(static_cast<std::size_t>(next), tokens, markers,
                                                              std::vector<TokenId>{next - 1});
  return {{OutputFormat::kGemma4, vocabulary}, {OutputFormat::kQwen35, vocabulary}};
}

Json tool_with(const char* parameters) {
  return Json::array(
      {{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", Json::parse(parameters)}}}}});
}

/// A random answer that holds much of what parsers look for; empty when it did not come to an end.
std::vector<TokenId> markup_walk(const std::shared_ptr<const Grammar>& grammar, OutputFormat format,
                                 Dice& dice) {
  constexpr const char* kPieces[] = {"</parameter>",
                                     "\n</parameter>\n",
                                     "<parameter=a>\n",
                                     "\n<parameter=a>\n",
                                     "</function>",
                                     "\n</function>\n",
                                     "<function=f>",
                                     "</tool_call>",
                                     "<tool_call|>",
                                     "<|\"|>",
                                     "null",
                                     "None",
                                     "true",
                                     "False",
                                     "12",
                                     "-3.5e2",
                                     "[1",
                                     "{\"a\":",
                                     "(1,)",
                                     "\"",
                                     "2",
                                     " ",
                                     "\n",
                                     "a:1}",
                                     "5,"};
  constexpr std::string_view kEnd = "\n</parameter>\n</function>\n";
  constexpr int kSoftLimit = 60, kLimit = 800;
  Matcher matcher(grammar);
  std::vector<TokenId> tokens;
  std::string text;
  const auto take = [&](TokenId token) {
    if (!matcher.allows(token)) return false;
    REQUIRE(matcher.accept(token));
    if (matcher.is_terminated()) return false;
    tokens.push_back(token);
    text += grammar->vocabulary().text(token);
    return true;
  };
  while (static_cast<int>(tokens.size()) < kLimit) {
    const bool closing = static_cast<int>(tokens.size()) > kSoftLimit;
    if (matcher.can_end() && (closing || dice.chance(30))) return tokens;
    if (!closing && dice.chance(60)) {
      for (const char c : std::string_view(kPieces[dice.roll(std::size(kPieces))]))
        if (!take(static_cast<unsigned char>(c))) break;
      continue;
    }
    const std::vector<TokenId> allowed = allowed_tokens(matcher);
    REQUIRE(!allowed.empty());
    TokenId token = allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))];
    if (closing || dice.chance(20)) {
      for (const TokenId id : allowed)
        if (id >= 256 || (dice.chance(80) && (id == '"' || id == '}' || id == ']'))) token = id;
      for (std::size_t size = format == OutputFormat::kQwen35 ? kEnd.size() : 0; size > 0; --size)
        if (text.ends_with(kEnd.substr(0, size - 1)) &&
            matcher.allows(static_cast<unsigned char>(kEnd[size - 1]))) {
          token = static_cast<unsigned char>(kEnd[size - 1]);
          break;
        }
    }
    if (!take(token)) return tokens;
  }
  return {};
}

}  // namespace

TEST_CASE("tool grammar: whatever an answer's arguments spell, they are read as what their schema allows") {
  constexpr const char* kParameters[] = {
      R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false})",
      R"({"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false})",
      R"({"type":"object","properties":{"a":{"type":["string","integer"]}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"type":["string","null","boolean","array"]}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string","maxLength":9},{"type":"number","minimum":5}]},
          "b":{"type":"string"}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"enum":["2",2.5,true,"x</function>",null]}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"const":"2"},"b":{"type":["string","integer"],"enum":["3","yes"]}},
          "required":["a","b"]})",
      R"({"type":"object","properties":{"a":{"const":"2"}},"anyOf":[{"required":["a"]}]})",
      R"({"anyOf":[{"type":"object","properties":{"b":{"const":"2"}},"required":["b"]},
          {"type":"object","properties":{"c":{"type":"integer"}},"required":["c"]}]})",
      R"({"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["a"]}],"type":"object"})",
      R"({"type":"object","properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"],
          "$defs":{"s":{"type":"string","pattern":"^[0-9]+$"}}})",
      R"({"type":"object","properties":{"a":{"minLength":2}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"},
          "c":{"enum":["</parameter></function>","z"]}},"required":["b","c"]}},"required":["a"]})",
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":["string","integer"]},"minItems":1}},
          "required":["a"]})",
      R"({"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"integer"}],
          "items":{"type":"string"}}},"required":["a"]})",
      R"({"type":"object","properties":{},"additionalProperties":false})",
      R"({"type":"object","additionalProperties":{"type":"integer"}})",
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"integer"}},
          "minProperties":2,"maxProperties":2})",
      R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":["boolean","string"]},
          "minProperties":1,"maxProperties":3})"};
  for (const Family& family : byte_families())
    for (const char* parameters : kParameters) {
      CAPTURE(static_cast<int>(family.format));
      CAPTURE(parameters);
      const Json declared = tool_with(parameters);
      const auto grammar = make_grammar(
          tool_call_grammar(family.format, declared, {.use = ToolUse::kRequired}, *family.vocabulary),
          family.vocabulary);
      int complete = 0;
      for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::vector<TokenId> tokens = markup_walk(grammar, family.format, dice);
        if (tokens.empty()) continue;
        ++complete;
        std::string text;
        for (const TokenId id : tokens) text += family.vocabulary->text(id);
        CAPTURE(text);
        const Answer answer = parse_answer(family, tokens, declared);
        REQUIRE(answer.content == "");
        REQUIRE(!answer.calls.empty());
        for (const auto& [name, arguments] : answer.calls) {
          CAPTURE(arguments);
          REQUIRE(Json::accept(arguments));
          const Json& schema = declared[0]["function"]["parameters"];
          REQUIRE(satisfies(Json::parse(arguments), schema, schema));
        }
      }
      CHECK(complete > 50);
    }
}

TEST_CASE("tool grammar: names of parameters that a call cannot carry are refused") {
  for (const Family& family : byte_families())
    for (const char* name : {"a>b", "x:y,{", " a", ""}) {
      CAPTURE(static_cast<int>(family.format));
      CAPTURE(name);
      const bool carried = family.format == OutputFormat::kGemma4
                               ? name == std::string_view("a>b")
                               : name == std::string_view("x:y,{") || name == std::string_view();
      Json declared = tool_with(R"({"type":"object","properties":{}})");
      declared[0]["function"]["parameters"]["properties"][name] = Json::object();
      std::string error;
      try {
        tool_call_grammar(family.format, declared, {}, *family.vocabulary);
      } catch (const Error& refused) {
        error = refused.what();
      }
      CHECK(error.empty() == carried);
      if (!carried) CHECK(error.starts_with("tools[0].function.parameters#/properties: the name "));
    }
}

TEST_CASE(
    "tool grammar: random answers with forced calls parse to calls whose arguments satisfy their schemas") {
  REQUIRE(families().size() == 2);
  for (const Family& family : families()) {
    const auto grammar = grammar_of(family, {.use = ToolUse::kRequired});
    std::size_t complete = 0, calls = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      Dice dice(seed);
      Matcher matcher(grammar);
      std::vector<TokenId> tokens;
      std::string text;
      for (int step = 0; step < 600 && !(matcher.can_end() && (step > 60 || dice.chance(50))); ++step) {
        const std::vector<TokenId> allowed = allowed_tokens(matcher);
        REQUIRE(!allowed.empty());
        TokenId token = allowed[dice.roll(static_cast<std::uint32_t>(allowed.size()))];
        if (step > 60 || dice.chance(20)) {  // Closes strings and calls.
          for (const TokenId id : allowed)
            if (family.vocabulary->is_marker(id)) token = id;
          const std::string_view forced = "\n</parameter>\n";
          for (std::size_t size = forced.size(); family.format == OutputFormat::kQwen35 && size > 0; --size) {
            if (!text.ends_with(forced.substr(0, size - 1))) continue;
            for (const TokenId id : allowed)
              if (family.vocabulary->text(id) == forced.substr(size - 1, 1)) token = id;
            break;
          }
        }
        REQUIRE(matcher.accept(token));
        if (matcher.is_terminated()) break;
        tokens.push_back(token);
        text += family.vocabulary->is_marker(token) ? "" : std::string(family.vocabulary->text(token));
      }
      if (!matcher.can_end()) continue;
      ++complete;
      const Answer answer = parse_answer(family, tokens, tools());
      CAPTURE(text);
      CHECK(answer.content.empty());
      CHECK(!answer.calls.empty());
      calls += answer.calls.size();
      for (const auto& [name, arguments] : answer.calls) {
        CAPTURE(name);
        CAPTURE(arguments);
        REQUIRE(Json::accept(arguments));
        for (const Json& tool : tools())
          if (tool["function"]["name"] == name && tool["function"].contains("parameters"))
            CHECK(satisfies(Json::parse(arguments), tool["function"]["parameters"],
                            tool["function"]["parameters"]));
      }
    }
    MESSAGE(complete << " answers with " << calls << " calls");
    CHECK(complete > 25);
  }
}

TEST_CASE("tool grammar: calls as both families write them are accepted, others are not") {
  for (const Family& family : families()) {
    const auto accepts = [&](std::string_view text, const ToolGrammarOptions& options) {
      Matcher matcher(grammar_of(family, options));
      return accept_answer(matcher, text) && matcher.can_end();
    };
    const ToolGrammarOptions required{.use = ToolUse::kRequired},
        one{.use = ToolUse::kRequired, .calls = ToolCalls::kOne},
        named{.use = ToolUse::kRequired, .only = "now"}, automatic{};
    std::string weather, plan, now, bad, separator;
    if (family.format == OutputFormat::kGemma4) {
      weather =
          "<|tool_call>call:get_weather{city:<|\"|>Bonn {x}\n\"<|\"|>,days:3,fine-print:true}<tool_call|>";
      plan =
          "<|tool_call>call:plan{stops:[{at:<|\"|>a<|\"|>,n:-1.5},{at:<|\"|><|\"|>}],note:null}<tool_call|>";
      now = "<|tool_call>call:now{}<tool_call|>";
      bad = "<|tool_call>call:get_weather{city:<|\"|>Bonn<|\"|>}<tool_call|>";
    } else {
      weather =
          "<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn </parameter> "
          "x\n</parameter>\n<parameter=days>\n3\n"
          "</parameter>\n<parameter=unit>\nC\n</parameter>\n</function>\n</tool_call>";
      plan =
          "<tool_call>\n<function=plan>\n<parameter=stops>\n[{\"at\": \"a\", \"n\": "
          "-1.5}]\n</parameter>\n<parameter=note>\n"
          "null\n</parameter>\n</function>\n</tool_call>";
      now = "<tool_call>\n<function=now>\n</function>\n</tool_call>";
      bad =
          "<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n</function>\n</"
          "tool_call>";
      separator = "\n";
    }
    CHECK(accepts(weather, required));
    CHECK(accepts(plan + separator + now, required));
    CHECK(accepts(now, one));
    CHECK_FALSE(accepts(now + separator + now, one));
    CHECK(accepts(now, named));
    CHECK_FALSE(accepts(plan, named));
    CHECK_FALSE(accepts(bad, required));
    CHECK(accepts(bad, {.use = ToolUse::kRequired, .arguments = ToolArguments::kAny}));
    CHECK_FALSE(accepts("", required));
    CHECK_FALSE(accepts("Hello", required));
    CHECK(accepts("", automatic));
    CHECK(accepts("Hello. " + weather, automatic));
    CHECK_FALSE(accepts("Hello. " + bad, automatic));
    const Json schema =
        Json::parse(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})");
    CHECK(accepts("{\"a\":1}", {.content_schema = &schema}));
    CHECK(accepts(now, {.content_schema = &schema}));
    CHECK_FALSE(accepts("Hello", {.content_schema = &schema}));
  }
}

TEST_CASE("tool grammar: tools that are none are named") {
  const Family family = families().front();
  const auto error_of = [&](const char* text, const ToolGrammarOptions& options = {}) {
    try {
      tool_call_grammar(family.format, Json::parse(text), options, *family.vocabulary);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(error_of("[]").find("at least one tool") != std::string::npos);
  CHECK(error_of("[{}]") == "tools[0] has no function.name");
  CHECK(error_of(R"([{"function":{"name":"a b"}}])").find("tools[0].function.name") == 0);
  CHECK(error_of(R"([{"function":{"name":"a"}}])", {.only = "b"}) == "no tool has the name \"b\"");
  CHECK(error_of(R"([{"function":{"name":"a","parameters":{"properties":{"x":{"type":"odd"}}}}}])")
            .find("tools[0].function.parameters#/properties/x/type") == 0);
}
