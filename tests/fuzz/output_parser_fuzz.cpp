// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/output_parser.h"

namespace {

using lanner::TokenId;
using lanner::text::OutputEvent;
using lanner::text::OutputFormat;
using lanner::text::OutputParser;
using Json = nlohmann::ordered_json;

constexpr std::string_view kMarkers[] = {"<|channel>",  "<channel|>",   "<|tool_call>", "<tool_call|>",
                                         "<|\"|>",      "<turn|>",      "<think>",      "</think>",
                                         "<tool_call>", "</tool_call>", "<|im_end|>"};
constexpr std::size_t kMarkerCount = std::size(kMarkers);

std::optional<TokenId> lookup(std::string_view text) {
  for (std::size_t i = 0; i < kMarkerCount; ++i)
    if (kMarkers[i] == text) return static_cast<TokenId>(i);
  return std::nullopt;
}

/// Bytes 0x80 and up stand for marker tokens, others for text.
std::string run(OutputFormat format, const Json& tools, std::string_view input, std::size_t cut) {
  OutputParser parser(format, lookup, {}, {tools, lanner::text::UnknownTools::kEmit});
  std::vector<OutputEvent> events;
  const auto add = [&](std::vector<OutputEvent> more) {
    for (OutputEvent& event : more) events.push_back(std::move(event));
  };
  for (std::size_t at = 0; at < input.size();) {
    const auto byte = static_cast<unsigned char>(input[at]);
    if (byte >= 0x80) {
      const std::size_t marker = byte % kMarkerCount;
      add(parser.push(static_cast<TokenId>(marker), kMarkers[marker]));
      ++at;
      continue;
    }
    std::size_t size = 0;
    while (size < cut && at + size < input.size() && static_cast<unsigned char>(input[at + size]) < 0x80)
      ++size;
    add(parser.push(1000, input.substr(at, size)));
    at += size;
  }
  add(parser.finish());
  const auto output = lanner::text::collect_output(events);
  std::string whole = output.reasoning + "\n--\n" + output.content;
  for (const auto& call : output.tool_calls) {
    if (!Json::accept(call.arguments)) std::abort();
    whole += "\n--\n" + call.name + call.arguments;
  }
  return whole;
}

}  // namespace

/// Whatever the model writes and however it is cut, the parser gives the same answer, with valid JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Json kTools = Json::parse(R"([{"function":{"name":"f","parameters":{"properties":{
    "s":{"type":"string"},"i":{"type":"integer"},"o":{"type":"object"},"a":{"type":["array","null"]}}}}}])");
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (OutputFormat format : {OutputFormat::kGemma4, OutputFormat::kQwen35})
    for (const Json& tools : {kTools, Json()})
      if (run(format, tools, input, 1) != run(format, tools, input, size + 1)) std::abort();
  return 0;
}
