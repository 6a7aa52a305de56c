// SPDX-License-Identifier: MIT
#include "text/output_parser.h"

#include <doctest/doctest.h>

#include "text/output_parser_driver.h"

namespace lanner::text {
namespace {

using test::Cut;
using test::describe;
using test::ParserDriver;
using Json = nlohmann::ordered_json;

const Json& declared_tools() {
  static const Json kTools = Json::parse(R"([
    {"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{
      "city":{"type":"string"},"days":{"type":"integer"},"metric":{"type":"boolean"},"tags":{"type":"array"},
      "where":{"type":"object"},"level":{"type":"number"},"unit":{"enum":["c","f"]},"note":{"type":["string","null"]}}}}},
    {"type":"function","function":{"name":"plan"}},
    {"type":"function","function":{"name":"write","parameters":{"properties":{"text":{"type":"string"},"mode":{"type":"string"}}}}}])");
  return kTools;
}

struct Case {
  const char* name;
  const char* prompt;
  const char* answer;
  const char* reasoning;
  const char* content;
  std::vector<std::pair<std::string, std::string>> calls = {};
};

std::vector<std::pair<std::string, std::string>> calls_of(const ParsedOutput& output) {
  std::vector<std::pair<std::string, std::string>> calls;
  for (const auto& call : output.tool_calls) calls.emplace_back(call.name, call.arguments);
  return calls;
}

void check(const ParserDriver& driver, const Case& expected) {
  CAPTURE(expected.name);
  CAPTURE(expected.answer);
  const auto whole = driver.events(expected.prompt, expected.answer, Cut::kWhole);
  const ParsedOutput output = collect_output(whole);
  CHECK(output.reasoning == expected.reasoning);
  CHECK(output.content == expected.content);
  CHECK(calls_of(output) == expected.calls);
  for (const auto& call : output.tool_calls) CHECK(Json::accept(call.arguments));
  CHECK(describe(driver.events(expected.prompt, expected.answer, Cut::kBytes)) == describe(whole));
  for (unsigned seed = 0; seed < 20; ++seed)
    CHECK(describe(driver.events(expected.prompt, expected.answer, Cut::kRandom, seed)) == describe(whole));
}

const char* const kGemmaTurn = "<|turn>user\nHi<turn|>\n<|turn>model\n";
const char* const kGemmaNoThought = "<|turn>model\n<|channel>thought\n<channel|>";
const char* const kQwenThinking = "<|im_start|>assistant\n<think>\n";
const char* const kQwenPlain = "<|im_start|>assistant\n<think>\n\n</think>\n\n";

TEST_CASE("Gemma 4: thoughts and text are told apart") {
  const ParserDriver driver(OutputFormat::kGemma4, declared_tools());
  const Case cases[] = {
      {"text", kGemmaTurn, "Hello there.<turn|>", "", "Hello there."},
      {"thought", kGemmaTurn, "<|channel>thought\n2+2=4.\n<channel|>Four.<turn|>", "2+2=4.", "Four."},
      {"after an empty thought", kGemmaNoThought, "Four.<turn|>", "", "Four."},
      {"empty thought", kGemmaTurn, "<|channel>thought\n<channel|>Four.", "", "Four."},
      {"unnamed thought", kGemmaTurn, "<|channel>I add. Then I stop.<channel|>Four.", "I add. Then I stop.",
       "Four."},
      {"one-word thought", kGemmaTurn, "<|channel>Easy<channel|>Four.", "Easy", "Four."},
      {"thought with thinking off", kGemmaNoThought, "<|channel>thought\nhm\n<channel|>Four.", "hm", "Four."},
      {"unclosed thought", kGemmaTurn, "<|channel>thought\nlong\nthought\n", "long\nthought\n", ""},
      {"closing marker without opener", kGemmaTurn, "<channel|>Four.", "", "Four."},
      {"opener missing, name there", kGemmaTurn, "thought\nhm\n<channel|>Four.", "hm", "Four."},
      {"a sentence with that word", kGemmaTurn, "thoughts are free", "", "thoughts are free"},
      {"repeated opener", kGemmaTurn, "<|channel>thought\na<|channel>b<channel|>c", "ab", "c"},
      {"prompt ends in the channel", "<|turn>model\n<|channel>", "thought\nhm\n<channel|>x", "hm", "x"},
      {"prompt ends in the thought", "<|turn>model\n<|channel>thought\n", "hm\n<channel|>x", "hm", "x"},
      {"second thought", kGemmaTurn, "<|channel>thought\na\n<channel|>x<|channel>thought\nb\n<channel|>y",
       "ab", "xy"},
      {"stop token ends it", kGemmaTurn, "yes<turn|>no", "", "yes"},
      {"marker text is text", kGemmaTurn, "a \1<|tool_call> b \1<channel|> c", "",
       "a <|tool_call> b <channel|> c"},
      {"nothing", kGemmaTurn, "", "", ""},
      {"blanks", kGemmaTurn, " \n", "", " \n"},
      {"unicode", kGemmaTurn, "n\xc3\xa9 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 \xe6\xbc\xa2", "",
       "n\xc3\xa9 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 \xe6\xbc\xa2"},
      {"half a character at the end", kGemmaTurn, "a\xf0\x9f\x91", "", "a\xef\xbf\xbd"},
      {"half a character before a marker", kGemmaTurn, "<|channel>thought\na\xc3<channel|>b", "a\xef\xbf\xbd",
       "b"},
  };
  for (const Case& expected : cases) check(driver, expected);
}

TEST_CASE("Gemma 4: tool calls become JSON") {
  const ParserDriver driver(OutputFormat::kGemma4, declared_tools());
  const Case cases[] = {
      {"one call",
       kGemmaTurn,
       "<|tool_call>call:get_weather{city:<|\"|>Paris<|\"|>,days:2}<tool_call|><|tool_response>",
       "",
       "",
       {{"get_weather", R"({"city":"Paris","days":2})"}}},
      {"no arguments", kGemmaTurn, "<|tool_call>call:plan{}<tool_call|>", "", "", {{"plan", "{}"}}},
      {"two calls",
       kGemmaTurn,
       "<|tool_call>call:plan{a:1}<tool_call|>\n<|tool_call>call:plan{b:[]}<tool_call|>",
       "",
       "",
       {{"plan", R"({"a":1})"}, {"plan", R"({"b":[]})"}}},
      {"two calls in one block",
       kGemmaTurn,
       "<|tool_call>call:plan{a:1}call:plan{b:2}<tool_call|>",
       "",
       "",
       {{"plan", R"({"a":1})"}, {"plan", R"({"b":2})"}}},
      {"text before",
       kGemmaTurn,
       "Let me see. <|tool_call>call:plan{}<tool_call|>",
       "",
       "Let me see. ",
       {{"plan", "{}"}}},
      {"blanks before are dropped",
       kGemmaTurn,
       "\n <|tool_call>call:plan{}<tool_call|>\n",
       "",
       "",
       {{"plan", "{}"}}},
      {"call ends the thought",
       kGemmaTurn,
       "<|channel>thought\nhm\n<|tool_call>call:plan{}<tool_call|>",
       "hm",
       "",
       {{"plan", "{}"}}},
      {"text after", kGemmaTurn, "<|tool_call>call:plan{}<tool_call|>Done.", "", "Done.", {{"plan", "{}"}}},
      {"closing marker missing",
       kGemmaTurn,
       "<|tool_call>call:plan{}<|tool_response>",
       "",
       "",
       {{"plan", "{}"}}},
      {"call without its word",
       kGemmaTurn,
       "<|tool_call>:get_weather{city:<|\"|>Bonn<|\"|>}<tool_call|>",
       "",
       "",
       {{"get_weather", R"({"city":"Bonn"})"}}},
      {"bare call after a thought",
       kGemmaTurn,
       "<|channel>thought\nx<channel|>call:get_weather{city:<|\"|>Bonn<|\"|>}",
       "x",
       "",
       {{"get_weather", R"({"city":"Bonn"})"}}},
      {"bare call after the prompt's empty thought",
       kGemmaNoThought,
       "call:get_weather{days:3}",
       "",
       "",
       {{"get_weather", R"({"days":3})"}}},
      {"bare call of an unknown tool", kGemmaNoThought, "call:nope{a:1}", "", "call:nope{a:1}"},
      {"talk about the syntax", kGemmaTurn, "Write `call:get_weather{city:Bonn}` to call it.", "",
       "Write `call:get_weather{city:Bonn}` to call it."},
      {"parentheses",
       kGemmaTurn,
       "<|tool_call>call:plan(a:1,b:{c:2})<tool_call|>",
       "",
       "",
       {{"plan", R"({"a":1,"b":{"c":2}})"}}},
      {"quoted keys",
       kGemmaTurn,
       "<|tool_call>call:plan{<|\"|>a b<|\"|>:<|\"|>x<|\"|>}<tool_call|>",
       "",
       "",
       {{"plan", R"({"a b":"x"})"}}},
      {"JSON keys and strings",
       kGemmaTurn,
       R"(<|tool_call>call:plan{"a":"x, {y}","b":["p","q\"r"]}<tool_call|>)",
       "",
       "",
       {{"plan", R"({"a":"x, {y}","b":["p","q\"r"]})"}}},
      {"blanks",
       kGemmaTurn,
       "<|tool_call> call:plan { a : 1 ,\n b : [ 1 , 2 ] } <tool_call|>",
       "",
       "",
       {{"plan", R"({"a":1,"b":[1,2]})"}}},
      {"duplicate key",
       kGemmaTurn,
       "<|tool_call>call:plan{a:1,a:{x:[2]},b:3,a:<|\"|>z<|\"|>}<tool_call|>",
       "",
       "",
       {{"plan", R"({"a":1,"b":3})"}}},
      {"nested values and quotes",
       kGemmaTurn,
       "<|tool_call>call:plan{stops:[{city:<|\"|>Oslo<|\"|>,days:2},{city:<|\"|>Rome<|\"|>,days:3}],opts:{"
       "dry-run:true,note:<|\"|>say "
       "\"hi\", {not} [a] 'list': C:\\new `x`\nline two<|\"|>},n:-1.5e3,e:{},l:[],z:null}<tool_call|>",
       "",
       "",
       {{"plan",
         R"({"stops":[{"city":"Oslo","days":2},{"city":"Rome","days":3}],"opts":{"dry-run":true,"note":"say \"hi\", {not} [a] 'list': C:\\new `x`\nline two"},"n":-1.5e3,"e":{},"l":[],"z":null})"}}},
      {"types by schema",
       kGemmaTurn,
       "<|tool_call>call:get_weather{city:5,days:<|\"|>7<|\"|>,metric:True,level:2.50,unit:c,note:null,tags:<"
       "|\"|>[1]<|\"|>,where:x}"
       "<tool_call|>",
       "",
       "",
       {{"get_weather",
         R"({"city":"5","days":7,"metric":true,"level":2.50,"unit":"c","note":null,"tags":[1],"where":"x"})"}}},
      {"unparsable scalars stay text",
       kGemmaTurn,
       "<|tool_call>call:get_weather{days:soon,metric:maybe,level:1.2.3}<tool_call|>",
       "",
       "",
       {{"get_weather", R"({"days":"soon","metric":"maybe","level":"1.2.3"})"}}},
      {"Python's None",
       kGemmaTurn,
       "<|tool_call>call:plan{a:None,b:true,c:Paris}<tool_call|>",
       "",
       "",
       {{"plan", R"({"a":null,"b":true,"c":"Paris"})"}}},
      {"unknown tool, complete",
       kGemmaTurn,
       "<|tool_call>call:nope{a:1}<tool_call|>",
       "",
       "",
       {{"nope", R"({"a":1})"}}},
      {"unknown tool, incomplete", kGemmaTurn, "<|tool_call>call:nope{a:1", "", "<|tool_call>call:nope{a:1"},
      {"opener never closed", kGemmaTurn, "<|tool_call>call:get_wea", "", "<|tool_call>call:get_wea"},
      {"arguments never closed", kGemmaTurn, "<|tool_call>call:plan{a:<|\"|>x", "",
       "<|tool_call>call:plan{a:<|\"|>x"},
      {"no call at all", kGemmaTurn, "<|tool_call>what?<tool_call|> ok", "",
       "<|tool_call>what?<tool_call|> ok"},
      {"second call cut short",
       kGemmaTurn,
       "<|tool_call>call:plan{a:1}<tool_call|><|tool_call>call:plan{b",
       "",
       "<|tool_call>call:plan{b",
       {{"plan", R"({"a":1})"}}},
      {"markers inside a string",
       kGemmaTurn,
       "<|tool_call>call:plan{a:<|\"|>x<|channel>y<|\"|>}<tool_call|>",
       "",
       "",
       {{"plan", R"({"a":"x<|channel>y"})"}}},
  };
  for (const Case& expected : cases) check(driver, expected);
}

TEST_CASE("Gemma 4: without tools the markers are text") {
  const ParserDriver driver(OutputFormat::kGemma4, nullptr);
  check(driver, {"call", kGemmaTurn, "<|tool_call>call:f{a:<|\"|>x<|\"|>}<tool_call|>", "",
                 "<|tool_call>call:f{a:<|\"|>x<|\"|>}<tool_call|>"});
  check(driver, {"bare call", kGemmaNoThought, "call:f{a:1}", "", "call:f{a:1}"});
}

TEST_CASE("unknown tools can be kept as content") {
  const ParserDriver gemma(OutputFormat::kGemma4, declared_tools(), UnknownTools::kAsContent);
  check(gemma, {"Gemma", kGemmaTurn, "<|tool_call>call:nope{a:1}<tool_call|>.", "",
                "<|tool_call>call:nope{a:1}<tool_call|>."});
  check(gemma,
        {"known", kGemmaTurn, "<|tool_call>call:plan{a:1}<tool_call|>", "", "", {{"plan", R"({"a":1})"}}});
  const ParserDriver qwen(OutputFormat::kQwen3_5, declared_tools(), UnknownTools::kAsContent);
  const char* const call =
      "<tool_call>\n<function=nope>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>";
  check(qwen, {"Qwen", kQwenPlain, call, "", call});
}

TEST_CASE("Qwen 3.5: thinking and text are told apart") {
  const ParserDriver driver(OutputFormat::kQwen3_5, declared_tools());
  const Case cases[] = {
      {"thinking", kQwenThinking, "9 * 6 = 54.\n</think>\n\n9 times 6 is 54.<|im_end|>", "9 * 6 = 54.",
       "9 times 6 is 54."},
      {"thinking off", kQwenPlain, "54.<|im_end|>", "", "54."},
      {"only the newlines of the frame are dropped", kQwenThinking, "\na\n\n</think>\n\n\nb\n", "\na\n",
       "\nb\n"},
      {"unclosed", kQwenThinking, "hm\n", "hm\n", ""},
      {"empty", kQwenThinking, "</think>\n\nYes", "", "Yes"},
      {"closing marker in text", kQwenPlain, "a</think>b", "", "ab"},
      {"opening marker in thinking", kQwenThinking, "a<think>b</think>c", "ab", "c"},
      {"thinking later on", kQwenPlain, "a<think>\nb\n</think>\n\nc", "b", "ac"},
      {"marker text is text", kQwenThinking, "a \1</think> b\n</think>\n\nc \1<tool_call>", "a </think> b",
       "c <tool_call>"},
      {"stop token ends it", kQwenPlain, "yes<|im_end|>\nno", "", "yes"},
  };
  for (const Case& expected : cases) check(driver, expected);
}

TEST_CASE("Qwen 3.5: tool calls become JSON") {
  const ParserDriver driver(OutputFormat::kQwen3_5, declared_tools());
  const Case cases[] = {
      {"one call",
       kQwenPlain,
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</"
       "parameter>\n</function>\n</tool_call><|im_end|>",
       "",
       "",
       {{"get_weather", R"({"city":"Paris","days":2})"}}},
      {"after thinking and text",
       kQwenThinking,
       "hm\n</think>\n\nLet me see.\n\n<tool_call>\n<function=plan>\n</function>\n</tool_call>",
       "hm",
       "Let me see.\n\n",
       {{"plan", "{}"}}},
      {"ends the thinking",
       kQwenThinking,
       "hm\n<tool_call>\n<function=plan>\n</function>\n</tool_call>",
       "hm",
       "",
       {{"plan", "{}"}}},
      {"two calls",
       kQwenPlain,
       "<tool_call>\n<function=plan>\n</function>\n</"
       "tool_call>\n<tool_call>\n<function=write>\n<parameter=text>\nx\n</parameter>\n</function>\n</"
       "tool_call>",
       "",
       "",
       {{"plan", "{}"}, {"write", R"({"text":"x"})"}}},
      {"two functions in one block",
       kQwenPlain,
       "<tool_call><function=plan></function>\n<function=plan></function></tool_call>",
       "",
       "",
       {{"plan", "{}"}, {"plan", "{}"}}},
      {"closing tag inside a value",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\n<a></parameter> "
       "stays</a>\n</parameter>\n<parameter=mode>\nx\n</parameter>\n</function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"<a></parameter> stays</a>","mode":"x"})"}}},
      {"compact form",
       kQwenPlain,
       "<tool_call><function=write><parameter=mode>x</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"mode":"x"})"}}},
      {"blank lines and indentation are kept",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\n\n  if a < b:\n\n    "
       "c()\n\n</parameter>\n</function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"\n  if a < b:\n\n    c()\n"})"}}},
      {"missing closing tag",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\na\n<parameter=mode>\nb\n</parameter>\n</"
       "function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"a","mode":"b"})"}}},
      {"both closing tags missing",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\na\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"a"})"}}},
      {"function end only",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\na\n</function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"a"})"}}},
      {"no outer marker",
       kQwenPlain,
       "Sure:\n<function=write>\n<parameter=text>\nx\n</parameter>\n</function>",
       "",
       "Sure:\n",
       {{"write", R"({"text":"x"})"}}},
      {"no outer marker, unknown name", kQwenPlain, "<function=nope>\n</function>", "",
       "<function=nope>\n</function>"},
      {"talk about the syntax", kQwenPlain, "Use `<function=write>` here.\n <function=write> too", "",
       "Use `<function=write>` here.\n <function=write> too"},
      {"types by schema",
       kQwenPlain,
       "<tool_call><function=get_weather><parameter=city>\nnull\n</parameter><parameter=days>\n3.0\n</"
       "parameter><parameter=metric>\nTrue\n</parameter>"
       "<parameter=tags>\n['a', True, None]\n</parameter><parameter=where>\n{\"x\": "
       "[1]}\n</parameter><parameter=level>\n1e3\n</parameter>"
       "<parameter=unit>\n5\n</parameter><parameter=note>\nnull\n</parameter></function></tool_call>",
       "",
       "",
       {{"get_weather",
         R"({"city":"null","days":3,"metric":true,"tags":["a",true,null],"where":{"x": [1]},"level":1e3,"unit":"5","note":null})"}}},
      {"without a schema",
       kQwenPlain,
       "<tool_call><function=plan><parameter=a>\n5\n</parameter><parameter=b>\nfive\n</"
       "parameter><parameter=c>\n\"q\"\n</parameter><parameter=d>\n[1]\n"
       "</parameter><parameter=e>\nTrue\n</parameter></function></tool_call>",
       "",
       "",
       {{"plan", R"({"a":5,"b":"five","c":"\"q\"","d":[1],"e":"True"})"}}},
      {"entities are not decoded",
       kQwenPlain,
       "<tool_call><function=write><parameter=text>\n&lt;a&gt; \"q\" "
       "\\n\n</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"text":"&lt;a&gt; \"q\" \\n"})"}}},
      {"duplicate key",
       kQwenPlain,
       "<tool_call><function=write><parameter=text>a</parameter><parameter=text>b</"
       "parameter><parameter=mode>c</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"text":"a","mode":"c"})"}}},
      {"JSON form",
       kQwenPlain,
       "<tool_call>\n{\"name\": \"plan\", \"arguments\": {\"a\": [1, \"x\"]}}\n</tool_call>",
       "",
       "",
       {{"plan", R"({"a":[1,"x"]})"}}},
      {"unknown tool, complete",
       kQwenPlain,
       "<tool_call><function=nope><parameter=a>1</parameter></function></tool_call>",
       "",
       "",
       {{"nope", R"({"a":1})"}}},
      {"never closed", kQwenPlain, "<tool_call>\n<function=write>\n<parameter=text>\nab", "",
       "<tool_call>\n<function=write>\n<parameter=text>\nab"},
      {"no call at all", kQwenPlain, "<tool_call>\nwhat?\n</tool_call>", "",
       "<tool_call>\nwhat?\n</tool_call>"},
      {"broken JSON", kQwenPlain, "<tool_call>\n{\"name\": }\n</tool_call>", "",
       "<tool_call>\n{\"name\": }\n</tool_call>"},
      {"text after",
       kQwenPlain,
       "<tool_call><function=plan></function></tool_call>\nDone.",
       "",
       "\nDone.",
       {{"plan", "{}"}}},
      {"markers inside a value",
       kQwenPlain,
       "<tool_call><function=write><parameter=text>\na <think> b\n</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"text":"a <think> b"})"}}},
  };
  for (const Case& expected : cases) check(driver, expected);
}

TEST_CASE("Qwen 3.5: without tools the markers are text") {
  const ParserDriver driver(OutputFormat::kQwen3_5, nullptr);
  check(driver, {"call", kQwenPlain, "<tool_call>\n<function=f>\n</function>\n</tool_call>", "",
                 "<tool_call>\n<function=f>\n</function>\n</tool_call>"});
}

TEST_CASE("string arguments stream as they are decoded, other values once they are whole") {
  const ParserDriver gemma(OutputFormat::kGemma4, declared_tools());
  OutputParser parser(OutputFormat::kGemma4, gemma.lookup(), {}, {declared_tools(), UnknownTools::kEmit});
  std::string seen;
  std::vector<std::string> steps;
  for (const auto& [id, bytes] :
       gemma.tokens("<|tool_call>call:get_weather{city:<|\"|>Pa<|\"|>,days:12}", Cut::kBytes, 0)) {
    for (const OutputEvent& event : parser.push(id, bytes))
      if (event.kind == OutputEvent::Kind::kToolArguments) seen += event.text;
    if (steps.empty() || steps.back() != seen) steps.push_back(seen);
  }
  CHECK(steps == std::vector<std::string>{"", "{", R"({"city":)", R"({"city":")", R"({"city":"P)",
                                          R"({"city":"Pa)", R"({"city":"Pa")", R"({"city":"Pa","days":)",
                                          R"({"city":"Pa","days":12})"});
}

TEST_CASE("call indices count from zero in order of appearance") {
  const ParserDriver driver(OutputFormat::kGemma4, declared_tools());
  const auto events = driver.events(
      kGemmaTurn, "<|tool_call>call:plan{}<tool_call|><|tool_call>call:plan{}<tool_call|>", Cut::kWhole);
  CHECK(describe(events) == "start0:plan\narguments0:{}\nend0:\nstart1:plan\narguments1:{}\nend1:\n");
}

TEST_CASE("a call that breaks after its start is reported as broken") {
  const ParserDriver driver(OutputFormat::kGemma4, declared_tools());
  const auto events = driver.events(kGemmaTurn, "<|tool_call>call:plan{a:1", Cut::kWhole);
  CHECK(describe(events) == "start0:plan\narguments0:{\"a\":\nbroken0:<|tool_call>call:plan{a:1\n");
}

TEST_CASE("a copied parser goes on from where it was copied") {
  const ParserDriver driver(OutputFormat::kQwen3_5, declared_tools());
  OutputParser parser(OutputFormat::kQwen3_5, driver.lookup(), {}, {declared_tools(), UnknownTools::kEmit});
  const auto tokens = driver.tokens(
      "a<tool_call><function=write><parameter=text>x</parameter></function></tool_call>b", Cut::kBytes, 0);
  for (std::size_t at = 0; at < tokens.size(); at += 5) {
    OutputParser first = parser;
    std::vector<OutputEvent> events;
    for (std::size_t i = 0; i < at; ++i)
      for (const auto& event : first.push(tokens[i].first, tokens[i].second)) events.push_back(event);
    OutputParser second = first;
    first.push(tokens[at].first, "something else");
    for (std::size_t i = at; i < tokens.size(); ++i)
      for (const auto& event : second.push(tokens[i].first, tokens[i].second)) events.push_back(event);
    for (const auto& event : second.finish()) events.push_back(event);
    const ParsedOutput output = collect_output(events);
    CHECK(output.content == "ab");
    CHECK(output.tool_calls.at(0).arguments == R"({"text":"x"})");
  }
}

TEST_CASE("text that a detokenizer held back may come with a marker") {
  const ParserDriver driver(OutputFormat::kQwen3_5, nullptr);
  const auto id = [&](const char* text) { return *driver.lookup()(text); };
  OutputParser parser(OutputFormat::kQwen3_5, driver.lookup(), std::vector<TokenId>{id("<think>")});
  CHECK(parser.in_reasoning());
  CHECK(describe(parser.push(1000, "a")) == "reasoning0:a\n");
  CHECK(describe(parser.push(id("</think>"), "b</think>")) == "reasoning0:b\n");
  CHECK_FALSE(parser.in_reasoning());
  CHECK(describe(parser.push(1000, "\n\nc")) == "content0:c\n");
}

TEST_CASE("the format is known from the vocabulary") {
  const ParserDriver gemma(OutputFormat::kGemma4, nullptr), qwen(OutputFormat::kQwen3_5, nullptr);
  CHECK(detect_output_format(gemma.lookup()) == OutputFormat::kGemma4);
  CHECK(detect_output_format(qwen.lookup()) == OutputFormat::kQwen3_5);
  CHECK(detect_output_format([](std::string_view) { return std::nullopt; }) == std::nullopt);
}

}  // namespace
}  // namespace lanner::text
