// SPDX-License-Identifier: MIT
#include "text/output_parser.h"

#include <doctest/doctest.h>

#include "text/output_parser_driver.h"

namespace lanner::text::test {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("unknown tools can be kept as content") {
  const ParserDriver gemma(OutputFormat::kGemma4, declared_tools(), UnknownTools::kAsContent);
  check_output(gemma, {"Gemma", kGemmaTurn, "<|tool_call>call:nope{a:1}<tool_call|>.", "",
                       "<|tool_call>call:nope{a:1}<tool_call|>."});
  check_output(
      gemma,
      {"known", kGemmaTurn, "<|tool_call>call:plan{a:1}<tool_call|>", "", "", {{"plan", R"({"a":1})"}}});
  const ParserDriver qwen(OutputFormat::kQwen35, declared_tools(), UnknownTools::kAsContent);
  const char* const call =
      "<tool_call>\n<function=nope>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>";
  check_output(qwen, {"Qwen", kQwenPlain, call, "", call});
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
  const ParserDriver driver(OutputFormat::kQwen35, declared_tools());
  OutputParser parser(OutputFormat::kQwen35, driver.lookup(), {}, {declared_tools(), UnknownTools::kEmit});
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
  const ParserDriver driver(OutputFormat::kQwen35, nullptr);
  const auto id = [&](const char* text) { return *driver.lookup()(text); };
  OutputParser parser(OutputFormat::kQwen35, driver.lookup(), std::vector<TokenId>{id("<think>")});
  CHECK(parser.in_reasoning());
  CHECK(describe(parser.push(1000, "a")) == "reasoning0:a\n");
  CHECK(describe(parser.push(id("</think>"), "b</think>")) == "reasoning0:b\n");
  CHECK_FALSE(parser.in_reasoning());
  CHECK(describe(parser.push(1000, "\n\nc")) == "content0:c\n");
}

TEST_CASE("the format is known from the vocabulary") {
  const ParserDriver gemma(OutputFormat::kGemma4, nullptr), qwen(OutputFormat::kQwen35, nullptr);
  CHECK(detect_output_format(gemma.lookup()) == OutputFormat::kGemma4);
  CHECK(detect_output_format(qwen.lookup()) == OutputFormat::kQwen35);
  CHECK(detect_output_format([](std::string_view) { return std::nullopt; }) == std::nullopt);
}

}  // namespace
}  // namespace lanner::text::test
