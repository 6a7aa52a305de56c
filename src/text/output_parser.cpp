// SPDX-License-Identifier: MIT
#include "text/output_parser.h"

#include <algorithm>

namespace lanner::text {
namespace {

struct MarkerText {
  std::string_view text;
  int meaning;
};

constexpr int meaning(Gemma4Output::Marker marker) { return static_cast<int>(marker); }
constexpr int meaning(Qwen35Output::Marker marker) { return static_cast<int>(marker); }

using Gemma = Gemma4Output::Marker;
using Qwen = Qwen35Output::Marker;

constexpr MarkerText kGemmaMarkers[] = {
    {"<|channel>", meaning(Gemma::kChannel)},
    {"<channel|>", meaning(Gemma::kChannelEnd)},
    {"<|tool_call>", meaning(Gemma::kToolCall)},
    {"<tool_call|>", meaning(Gemma::kToolCallEnd)},
    {"<|\"|>", meaning(Gemma::kQuote)},
    {"<turn|>", meaning(Gemma::kStop)},
    {"<|turn>", meaning(Gemma::kStop)},
    {"<|tool_response>", meaning(Gemma::kStop)},
    {"<eos>", meaning(Gemma::kStop)},
};

constexpr MarkerText kQwenMarkers[] = {
    {"<think>", meaning(Qwen::kThink)},        {"</think>", meaning(Qwen::kThinkEnd)},
    {"<tool_call>", meaning(Qwen::kToolCall)}, {"</tool_call>", meaning(Qwen::kToolCallEnd)},
    {"<|im_end|>", meaning(Qwen::kStop)},      {"<|im_start|>", meaning(Qwen::kStop)},
    {"<|endoftext|>", meaning(Qwen::kStop)},
};

/// Index just behind the last of the ids in the prompt that is one of `wanted`, or 0.
std::size_t behind_last(std::span<const TokenId> prompt,
                        std::initializer_list<std::optional<TokenId>> wanted) {
  for (std::size_t i = prompt.size(); i > 0; --i)
    if (std::find(wanted.begin(), wanted.end(), std::optional(prompt[i - 1])) != wanted.end()) return i;
  return 0;
}

Gemma4Output::Start gemma_start(const TokenLookup& lookup, std::span<const TokenId> prompt) {
  const auto channel = lookup("<|channel>"), channel_end = lookup("<channel|>");
  const std::size_t behind = behind_last(
      prompt, {channel, channel_end, lookup("<|tool_call>"), lookup("<|turn>"), lookup("<|tool_response>")});
  if (behind == 0) return Gemma4Output::Start::kContent;
  const TokenId last = prompt[behind - 1];
  if (channel_end && last == *channel_end && behind == prompt.size())
    return Gemma4Output::Start::kAfterChannel;
  if (!channel || last != *channel) return Gemma4Output::Start::kContent;
  const auto newline = lookup("\n");
  const auto rest = prompt.subspan(behind);
  const bool named = newline && std::find(rest.begin(), rest.end(), *newline) != rest.end();
  return named ? Gemma4Output::Start::kReasoning : Gemma4Output::Start::kChannelName;
}

Qwen35Output::Start qwen_start(const TokenLookup& lookup, std::span<const TokenId> prompt) {
  const auto think = lookup("<think>"), think_end = lookup("</think>");
  const std::size_t opened = behind_last(prompt, {think}), closed = behind_last(prompt, {think_end});
  return opened > closed ? Qwen35Output::Start::kReasoning : Qwen35Output::Start::kContent;
}

}  // namespace

std::optional<OutputFormat> detect_output_format(const TokenLookup& lookup) {
  if (lookup("<|channel>") && lookup("<channel|>") && lookup("<|tool_call>")) return OutputFormat::kGemma4;
  if (lookup("<think>") && lookup("</think>") && lookup("<tool_call>")) return OutputFormat::kQwen35;
  return std::nullopt;
}

std::optional<TokenId> reasoning_opener(OutputFormat format, const TokenLookup& lookup,
                                        std::span<const TokenId> prompt) {
  if (format != OutputFormat::kGemma4) return std::nullopt;  // Qwen's template opens it or closes it.
  const auto think = lookup("<|think|>");
  const bool asked = think && std::ranges::find(prompt, *think) != prompt.end();
  if (!asked || gemma_start(lookup, prompt) != Gemma4Output::Start::kContent) return std::nullopt;
  return lookup("<|channel>");
}

OutputParser::OutputParser(OutputFormat format, const TokenLookup& lookup, std::span<const TokenId> prompt,
                           const OutputParserOptions& options)
    : events_(std::make_shared<const DeclaredTools>(options.tools), options.unknown_tools),
      family_(make_family(format, lookup, prompt)) {
  add_markers(format, lookup);
}

OutputParser::Family OutputParser::make_family(OutputFormat format, const TokenLookup& lookup,
                                               std::span<const TokenId> prompt) {
  if (format == OutputFormat::kGemma4) return Gemma4Output(gemma_start(lookup, prompt));
  return Qwen35Output(qwen_start(lookup, prompt));
}

void OutputParser::add_markers(OutputFormat format, const TokenLookup& lookup) {
  const std::span<const MarkerText> texts =
      format == OutputFormat::kGemma4 ? std::span<const MarkerText>(kGemmaMarkers) : kQwenMarkers;
  for (const MarkerText& marker : texts)
    if (const auto id = lookup(marker.text))
      markers_.push_back({*id, std::string(marker.text), marker.meaning});
}

const OutputParser::Marker* OutputParser::find_marker(TokenId id) const {
  const auto at =
      std::find_if(markers_.begin(), markers_.end(), [&](const Marker& marker) { return marker.id == id; });
  return at == markers_.end() ? nullptr : &*at;
}

void OutputParser::pass_text(std::string_view text) {
  if (text.empty()) return;
  std::visit([&](auto& family) { family.text(text, events_); }, family_);
}

void OutputParser::pass_marker(const Marker& marker) {
  std::visit(
      [&](auto& family) {
        using FamilyMarker = typename std::decay_t<decltype(family)>::Marker;
        family.marker(static_cast<FamilyMarker>(marker.meaning), marker.text, events_);
      },
      family_);
}

std::vector<OutputEvent> OutputParser::push(TokenId id, std::string_view bytes) {
  const Marker* marker = find_marker(id);
  // A detokenizer may deliver text it held back together with the marker.
  if (marker && bytes.size() >= marker->text.size() &&
      bytes.substr(bytes.size() - marker->text.size()) == marker->text)
    bytes.remove_suffix(marker->text.size());
  std::string text;
  utf8_.append(bytes, text);
  if (marker) utf8_.finish(text);
  pass_text(text);
  if (marker) pass_marker(*marker);
  return events_.take();
}

std::vector<OutputEvent> OutputParser::finish() {
  std::string text;
  utf8_.finish(text);
  pass_text(text);
  std::visit([&](auto& family) { family.finish(events_); }, family_);
  return events_.take();
}

bool OutputParser::in_reasoning() const {
  return std::visit([](const auto& family) { return family.in_reasoning(); }, family_);
}

bool OutputParser::ends_reasoning() const {
  return std::visit([](const auto& family) { return family.ends_reasoning(); }, family_);
}

bool OutputParser::in_tool_call() const {
  return std::visit([](const auto& family) { return family.in_tool_call(); }, family_);
}

}  // namespace lanner::text
