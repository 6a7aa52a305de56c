// SPDX-License-Identifier: MIT
#include "text/output_parser_driver.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace lanner::text::test {
namespace {

using Json = nlohmann::ordered_json;

constexpr TokenId kFirstMarker = 10;
constexpr TokenId kOrdinary = 1000;
constexpr TokenId kNewline = 5;

const std::vector<std::string>& markers(OutputFormat format) {
  static const std::vector<std::string> kGemma = {"<|channel>",   "<channel|>",       "<|tool_call>",
                                                  "<tool_call|>", "<|\"|>",           "<turn|>",
                                                  "<|turn>",      "<|tool_response>", "<eos>"};
  static const std::vector<std::string> kQwen = {"<think>",    "</think>",     "<tool_call>",  "</tool_call>",
                                                 "<|im_end|>", "<|im_start|>", "<|endoftext|>"};
  return format == OutputFormat::kGemma4 ? kGemma : kQwen;
}

std::vector<std::pair<std::string, std::string>> calls_of(const ParsedOutput& output) {
  std::vector<std::pair<std::string, std::string>> calls;
  for (const auto& call : output.tool_calls) calls.emplace_back(call.name, call.arguments);
  return calls;
}

}  // namespace

TokenLookup ParserDriver::lookup() const {
  return [this](std::string_view text) -> std::optional<TokenId> {
    if (text == "\n") return kNewline;
    const auto& all = markers(format_);
    const auto at = std::find(all.begin(), all.end(), text);
    if (at == all.end()) return std::nullopt;
    return kFirstMarker + static_cast<TokenId>(at - all.begin());
  };
}

std::vector<std::pair<TokenId, std::string>> ParserDriver::tokens(const std::string& text, Cut cut,
                                                                  unsigned seed) const {
  std::vector<std::pair<TokenId, std::string>> out;
  std::mt19937 random(seed);
  std::string run;
  const auto flush = [&] {
    for (std::size_t at = 0; at < run.size();) {
      const std::size_t size = cut == Cut::kWhole ? run.size() : cut == Cut::kBytes ? 1 : 1 + random() % 7;
      const std::string piece = run.substr(at, size);
      out.emplace_back(piece == "\n" ? kNewline : kOrdinary, piece);
      at += piece.size();
    }
    run.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const bool plain = text[at] == '\1';
    const std::string_view rest = std::string_view(text).substr(at + (plain ? 1 : 0));
    const auto& all = markers(format_);
    const auto marker = std::find_if(all.begin(), all.end(),
                                     [&](const std::string& m) { return rest.substr(0, m.size()) == m; });
    if (marker == all.end()) {
      run += text[at++];
    } else if (plain) {
      run += *marker;
      at += 1 + marker->size();
    } else {
      flush();
      out.emplace_back(*lookup()(*marker), *marker);
      at += marker->size();
    }
  }
  flush();
  return out;
}

std::vector<OutputEvent> ParserDriver::events(const std::string& prompt, const std::string& answer, Cut cut,
                                              unsigned seed) const {
  std::vector<TokenId> prompt_ids;
  for (const auto& [id, bytes] : tokens(prompt, Cut::kBytes, 0)) prompt_ids.push_back(id);
  OutputParser parser(format_, lookup(), prompt_ids, options_);
  std::vector<OutputEvent> all;
  const auto add = [&](const std::vector<OutputEvent>& more) {
    for (const OutputEvent& event : more) {
      const bool text = event.kind == OutputEvent::Kind::kContent ||
                        event.kind == OutputEvent::Kind::kReasoning ||
                        event.kind == OutputEvent::Kind::kToolArguments;
      if (text && !all.empty() && all.back().kind == event.kind)
        all.back().text += event.text;
      else
        all.push_back(event);
    }
  };
  for (const auto& [id, bytes] : tokens(answer, cut, seed)) add(parser.push(id, bytes));
  add(parser.finish());
  return all;
}

ParsedOutput ParserDriver::parse(const std::string& prompt, const std::string& answer, Cut cut) const {
  return collect_output(events(prompt, answer, cut));
}

std::string describe(const std::vector<OutputEvent>& events) {
  static constexpr const char* kNames[] = {"reasoning", "content", "start", "arguments", "end", "broken"};
  std::string out;
  for (const OutputEvent& event : events)
    out += std::string(kNames[static_cast<int>(event.kind)]) + std::to_string(event.call) + ":" + event.text +
           "\n";
  return out;
}

void check_output(const ParserDriver& driver, const OutputCase& expected) {
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

const nlohmann::ordered_json& declared_tools() {
  static const Json kTools = Json::parse(R"([
    {"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{
      "city":{"type":"string"},"days":{"type":"integer"},"metric":{"type":"boolean"},"tags":{"type":"array"},
      "where":{"type":"object"},"level":{"type":"number"},"unit":{"enum":["c","f"]},"note":{"type":["string","null"]}}}}},
    {"type":"function","function":{"name":"plan"}},
    {"type":"function","function":{"name":"write","parameters":{"properties":{"text":{"type":"string"},"mode":{"type":"string"}}}}}])");
  return kTools;
}

}  // namespace lanner::text::test
