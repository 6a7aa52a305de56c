// SPDX-License-Identifier: MIT
#include "text/grammar/grammar_bombs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/lark.h"
#include "text/grammar/regex.h"
#include "text/grammar/tool_grammar.h"

namespace lanner::text::grammar::test {

namespace {

using Json = nlohmann::ordered_json;
using Answer = Bomb::Answer;

class Bombs {
 public:
  std::vector<Bomb> take() { return std::move(bombs_); }

  void schema(const std::string& name, const Json& schema, Answer answer = Answer::kAny) {
    bombs_.push_back({"schema: " + name, [=](const auto&) { return json_schema_grammar(schema); }, answer});
  }
  void schema(const std::string& name, const char* text, Answer answer = Answer::kAny) {
    schema(name, Json::parse(text), answer);
  }
  void gbnf(const std::string& name, const std::string& text, Answer answer = Answer::kAny) {
    bombs_.push_back(
        {"GBNF: " + name, [=](const auto& vocabulary) { return parse_gbnf(text, vocabulary); }, answer});
  }
  void lark(const std::string& name, const std::string& text, Answer answer = Answer::kAny) {
    bombs_.push_back(
        {"Lark: " + name, [=](const auto& vocabulary) { return parse_lark(text, vocabulary); }, answer});
  }
  void regex(const std::string& name, const std::string& text, Answer answer = Answer::kAny) {
    bombs_.push_back({"regex: " + name,
                      [=](const auto&) {
                        return rooted([&](GrammarSource& source) {
                          return parse_whole_regex(source, text, "regex", write_plain);
                        });
                      },
                      answer});
    schema("pattern, " + name, Json{{"type", "string"}, {"pattern", text}}, answer);
  }
  void choices(const std::string& name, const std::vector<std::string>& texts, Answer answer = Answer::kAny) {
    bombs_.push_back(
        {"choice: " + name,
         [=](const auto&) { return rooted([&](GrammarSource& source) { return source.literals(texts); }); },
         answer});
  }
  void tools(const std::string& name, const Json& parameters, Answer answer = Answer::kAny) {
    const Json list = Json::array({{{"function", {{"name", "f"}, {"parameters", parameters}}}}});
    for (const OutputFormat format : {OutputFormat::kGemma4, OutputFormat::kQwen35})
      bombs_.push_back({"tools: " + name,
                        [=](const auto& vocabulary) {
                          return tool_call_grammar(format, list, {.use = ToolUse::kRequired}, vocabulary);
                        },
                        answer});
  }

 private:
  template <typename Write>
  static GrammarSource rooted(const Write& write) {
    GrammarSource source;
    const ExprId body = write(source);
    const RuleId root = source.add_rule("root");
    source.define(root, body);
    source.set_root(root);
    return source;
  }

  std::vector<Bomb> bombs_;
};

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

/// `join`ed text of write(0)..write(count - 1).
template <typename Write>
std::string listed(int count, std::string_view join, const Write& write) {
  std::string result;
  for (int i = 0; i < count; ++i) result += (i == 0 ? "" : std::string(join)) + write(i);
  return result;
}

std::vector<std::string> texts(int count) {
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) result.push_back("text number " + std::to_string(i * 7919));
  return result;
}

/// {"$defs": each of `count` schemas twice refers to the next one, in `keyword`; the last is `end`}.
Json doubling(const std::string& keyword, int count, const Json& end) {
  Json defs = Json::object();
  for (int i = 0; i < count; ++i) {
    const Json next{{"$ref", "#/$defs/d" + std::to_string(i + 1)}};
    defs["d" + std::to_string(i)] = Json{{keyword, Json::array({next, next})}};
  }
  defs["d" + std::to_string(count)] = end;
  return Json{{"$defs", defs}, {"$ref", "#/$defs/d0"}};
}

Json chain(int count) {
  Json defs = Json::object();
  for (int i = 0; i < count; ++i)
    defs["d" + std::to_string(i)] = Json{{"$ref", "#/$defs/d" + std::to_string(i + 1)}};
  defs["d" + std::to_string(count)] = Json{{"type", "null"}};
  return Json{{"$defs", defs}, {"$ref", "#/$defs/d0"}};
}

Json object_of(int properties, const Json& more) {
  Json result{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (int i = 0; i < properties; ++i) result["properties"]["p" + std::to_string(i)] = Json{{"type", "null"}};
  if (more.is_object()) result.update(more);
  return result;
}

void add_schemas(Bombs& bombs) {
  const Json text{{"type", "string"}};
  bombs.schema("allOf doubles", doubling("allOf", 40, text), Answer::kWorks);
  bombs.schema("anyOf doubles", doubling("anyOf", 40, text));
  bombs.schema("anyOf doubles what nothing satisfies", doubling("anyOf", 40, Json(false)));
  bombs.schema("oneOf doubles", doubling("oneOf", 9, object_of(20, {})));
  bombs.schema("a chain of references", chain(50'000));
  bombs.schema("10 of 20 properties", object_of(20, {{"minProperties", 10}}), Answer::kWorks);
  bombs.schema("50 of 60 properties", object_of(60, {{"minProperties", 50}}), Answer::kWorks);
  bombs.schema("2500 of 5000 properties", object_of(5000, {{"minProperties", 2500}}));
  bombs.schema("200 of 400 properties", object_of(400, {{"minProperties", 200}, {"maxProperties", 300}}));
  bombs.schema("5000 properties", object_of(5000, {}), Answer::kWorks);
  Json required = object_of(5000, {});
  for (int i = 0; i < 5000; ++i) required["required"].push_back("p" + std::to_string(i));
  bombs.schema("5000 required properties", required, Answer::kWorks);
  Json patterns{{"type", "object"}, {"patternProperties", Json::object()}, {"properties", Json::object()}};
  for (int i = 0; i < 1000; ++i) {
    patterns["patternProperties"][fmt::format("^a{}(b|c)*{}$", i, i)] = text;
    patterns["properties"]["a" + std::to_string(i)] = text;
  }
  bombs.schema("1000 patterns of properties", patterns);
  Json names{{"type", "object"}, {"allOf", Json::array()}};
  for (int i = 0; i < 200; ++i)
    names["allOf"].push_back(Json{{"propertyNames", {{"pattern", fmt::format("a.{{{}}}b", i)}}}});
  bombs.schema("200 patterns of names", names);
  Json both{{"type", "string"}, {"allOf", Json::array()}};
  for (int i = 2; i < 40; ++i) both["allOf"].push_back(Json{{"pattern", fmt::format("^([a-c]{{{}}})*$", i)}});
  bombs.schema("patterns that meet after the product of their lengths", both);
  Json primes{{"type", "integer"}, {"allOf", Json::array()}};
  for (const int prime : {1009, 1013, 1019, 1021, 1031})
    primes["allOf"].push_back(Json{{"multipleOf", prime}});
  bombs.schema("common multiples", primes);
  Json values = Json::array(), other_values = Json::array();
  for (int i = 0; i < 5000; ++i) values.push_back(i), other_values.push_back(5000 - i);
  bombs.schema("two enumerations", Json{{"enum", values}, {"allOf", {{{"enum", other_values}}}}});
  Json hundred_thousand = Json::array();
  for (const std::string& one : texts(100'000)) hundred_thousand.push_back(one);
  bombs.schema("100000 values", Json{{"enum", hundred_thousand}});
  bombs.schema("a text of 10 MB", Json{{"const", repeated("0123456789", 1'000'000)}});
  bombs.schema("a pattern of 10 MB",
               Json{{"type", "string"}, {"pattern", repeated("0123456789", 1'000'000)}});
  bombs.schema("a name of 3 MB", Json{{"type", "object"}, {"required", {repeated("name", 750'000)}}});
  bombs.schema("counted arrays of counted arrays of counted texts",
               R"({"minItems":90000,"maxItems":100000,"items":{"minItems":90000,"maxItems":100000,
               "items":{"type":"string","minLength":90000,"maxLength":100000}}})",
               Answer::kWorks);
  bombs.schema("other keywords", R"({"not":{"not":{"not":{}}},"if":{"if":{"if":{}}},"then":{"then":{}},
               "dependentSchemas":{"a":{"dependentSchemas":{"b":{}}}},"uniqueItems":true,
               "contains":{"contains":{}},
               "minContains":100000,"type":["object","array"]})",
               Answer::kWorks);
  Json branches{{"allOf", Json::array()}};
  for (int i = 0; i < 60; ++i)
    branches["allOf"].push_back(Json{{"anyOf", {{{"minLength", i}}, {{"maxLength", 100 + i}}}}});
  bombs.schema("alternatives multiply", branches);
  Json tuples{{"type", "array"}, {"prefixItems", Json::array()}};
  for (int i = 0; i < 1000; ++i) tuples["prefixItems"].push_back(object_of(3, {}));
  bombs.schema("1000 places", tuples, Answer::kWorks);
  Json closed = object_of(0, {{"$defs", Json::object()}});
  for (int i = 0; i < 300; ++i) {
    closed["$defs"]["d" + std::to_string(i)] =
        object_of(5, {{"properties", {{"next", {{"$ref", fmt::format("#/$defs/d{}", (i * 7 + 1) % 300)}}}}}});
  }
  closed["properties"] = Json{{"a", {{"$ref", "#/$defs/d0"}}}};
  bombs.schema("300 schemas in a ring", closed, Answer::kWorks);
}

void add_grammars(Bombs& bombs) {
  const auto doubled = [](int i) { return fmt::format("r{0} ::= r{1} r{1}\n", i, i + 1); };
  const auto doubled_ways = [](int i) {
    return fmt::format("r{0} ::= \"x\" r{1} | \"x\" r{1} \"y\"\n", i, i + 1);
  };
  for (const int levels : {20, 30, 1000}) {
    const std::string end = fmt::format("r{} ::= \"a\"\n", levels);
    bombs.gbnf(fmt::format("{} levels double", levels), "root ::= r0\n" + listed(levels, "", doubled) + end,
               levels == 20 ? Answer::kWorks : Answer::kAny);
    bombs.gbnf(fmt::format("{} levels of two ways", levels),
               "root ::= r0\n" + listed(levels, "", doubled_ways) + end);
  }
  bombs.gbnf("a chain of rules", "root ::= r0\n" + listed(50'000, "", [](int i) {
                                   return fmt::format("r{} ::= r{}\n", i, i + 1);
                                 }) + "r50000 ::= \"a\"\n");
  bombs.gbnf("counts in counts", "root ::= ((([a-z]{0,1000}){0,1000}){0,1000}){0,1000} \"!\"",
             Answer::kWorks);
  bombs.gbnf("counts of two letters in counts", "root ::= (((\"ab\"? \"c\"?){0,300}){0,300} \"d\"?){0,300}");
  bombs.gbnf("counted rules", "root ::= a{0,1000}\na ::= b{0,1000}\nb ::= root{0,1000} \"x\"");
  bombs.gbnf("every cut of a text", "root ::= a a a a a a a a\na ::= \"x\"* | a a");
  bombs.gbnf("brackets and quantifiers", "root ::= " + repeated("(", 190) + "\"a\"" + repeated("****)", 190));
  bombs.gbnf("2000 optional rules",
             "root ::= " + listed(2000, " ", [](int i) { return fmt::format("r{}?", i); }) + "\n" +
                 listed(2000, "", [](int i) { return fmt::format("r{0} ::= \"x{0}\" root?\n", i); }));
  bombs.gbnf("60 rules that begin with each other", listed(60, "", [](int i) {
               return fmt::format("{} ::= \"a\" | {}\n", i == 0 ? "root" : fmt::format("r{}", i),
                                  listed(60, " | ", [&](int j) {
                                    return fmt::format("{} \"{}\"", j == 0 ? "root" : fmt::format("r{}", j),
                                                       i * j);
                                  }));
             }));
  bombs.gbnf("100000 texts", "root ::= " + listed(100'000, " | ", [](int i) {
                               return fmt::format("\"text {}\"", i * 7919);
                             }));
  bombs.gbnf("20000 texts that begin with sets", "root ::= " + listed(20'000, " | ", [](int i) {
                                                   return fmt::format("[a-{}] \"{}\"", char('b' + i % 20), i);
                                                 }));
  bombs.gbnf("large classes", "root ::= [" + listed(40'000, "", [](int i) {
                                return fmt::format("\\U{:08X}", 0x20000 + 2 * (40'000 - i));
                              }) + "]*");
  bombs.gbnf("a text of 4 MB", "root ::= \"" + repeated("a", 4'000'000) + "\"");
  bombs.lark("counts in counts", "start: (((/[a-z]/~0..1000)~0..1000)~0..1000)~0..1000 \"!\"",
             Answer::kWorks);
  bombs.lark("templates and imports", "%import python (A)\nstart{x}: x");
  bombs.lark("terminals double", "start: T0\n" + listed(40, "", [](int i) {
                                   return fmt::format("T{0}: T{1} T{1}\n", i, i + 1);
                                 }) + "T40.100000: \"a\"\n");
  bombs.lark("all that is ignored",
             "start: A*\nA: \"a\"*\n%ignore /a*/\n%ignore /(a|b)*/\n%ignore /( |a)*/\n");
  bombs.lark("imports", "%import common (" + listed(1, ",", [](int) { return "FLOAT"; }) +
                            ")\nstart: " + repeated("FLOAT ", 20'000) + "\n");
}

void add_regexes(Bombs& bombs) {
  bombs.regex("groups in groups", "((((a{0,1000}){0,1000}){0,1000}){0,1000}){0,1000}b", Answer::kWorks);
  bombs.regex("two letters in groups", "(((a?b?){0,500}c?){0,500}d?){0,500}");
  bombs.regex("the letter before the last 1000", "[ab]*a[ab]{1000}");
  bombs.regex("the letter before the last 20, of many", "(([ab]*a[ab]{20}|[bc]*b[bc]{21})*c[abc]{22})*");
  bombs.regex("nested stars", repeated("(", 150) + "a*" + repeated(")*", 150), Answer::kWorks);
  bombs.regex("100000 ways", listed(100'000, "|", [](int i) { return std::to_string(i * 7919); }));
  bombs.regex("2000 ways with holes", listed(2000, "|", [](int i) { return fmt::format("a.*{}.*b", i); }));
  bombs.regex("categories", "(" + repeated("\\p{L}\\P{Lu}[^\\p{N}]", 1000) + ")*");
  bombs.regex("optional letters", repeated("[a-z]?", 3000));
  bombs.regex("a million counted letters", repeated("[ab]{100000}", 1000));
}

void add_lists_and_tools(Bombs& bombs) {
  bombs.choices("100000 texts", texts(100'000), Answer::kWorks);
  std::vector<std::string> stairs;
  for (int i = 1; i < 1500; ++i) stairs.push_back(repeated("a", static_cast<std::size_t>(i)));
  bombs.choices("each longer than the last", stairs, Answer::kWorks);
  bombs.tools("allOf doubles",
              Json{{"type", "object"},
                   {"properties", {{"a", {{"$ref", "#/$defs/d0"}}}}},
                   {"$defs", doubling("allOf", 40, Json{{"type", "string"}})["$defs"]}},
              Answer::kWorks);
  bombs.tools("anyOf doubles what nothing satisfies", doubling("anyOf", 40, Json(false)));
  bombs.tools("50 of 60 properties", object_of(60, {{"minProperties", 50}}), Answer::kWorks);
  bombs.tools("patterns",
              Json{{"type", "object"},
                   {"properties", {{"a", {{"type", "string"}, {"pattern", "([ab]*a[ab]{300}|c{300})*"}}}}}});
}

}  // namespace

std::vector<Bomb> grammar_bombs() {
  Bombs bombs;
  add_schemas(bombs);
  add_grammars(bombs);
  add_regexes(bombs);
  add_lists_and_tools(bombs);
  return bombs.take();
}

}  // namespace lanner::text::grammar::test
