// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/token.h"
#include "text/gemma4_output.h"
#include "text/output_parser_events.h"
#include "text/output_parser_tools.h"
#include "text/qwen3_5_output.h"
#include "text/unicode.h"

namespace lanner::text {

/// Whose markup an answer is written in.
enum class OutputFormat : std::uint8_t { kGemma4, kQwen35 };

/// Finds a token's id by its text; for example [&](auto text) { return tokenizer.token_id(text); }.
using TokenLookup = std::function<std::optional<TokenId>(std::string_view)>;

/// The format whose markers a vocabulary has; nothing when it has neither's.
std::optional<OutputFormat> detect_output_format(const TokenLookup& lookup);

/// The marker with which an answer to this prompt opens its reasoning, if it reasons. Nothing when no
/// reasoning is asked for, or when the prompt's end opens or closes it already.
std::optional<TokenId> reasoning_opener(OutputFormat format, const TokenLookup& lookup,
                                        std::span<const TokenId> prompt);

struct OutputParserOptions {
  /// Declared tools in OpenAI form. Null or empty (no tools, tool_choice none): tool markers are shown as
  /// text.
  nlohmann::ordered_json tools = nullptr;
  UnknownTools unknown_tools = UnknownTools::kEmit;
};

/// Turns the tokens of an answer into events: reasoning, content and tool calls with their arguments as JSON.
/// Markers are told by token id, so text that spells one is text. What is emitted, joined, does not depend on
/// how the tokens come or how the text is cut. Copy it to be able to go back to an earlier token.
class OutputParser {
 public:
  /// `prompt`: the ids of the whole prompt; its end says whether the answer begins inside the thinking.
  OutputParser(OutputFormat format, const TokenLookup& lookup, std::span<const TokenId> prompt,
               const OutputParserOptions& options = {});

  /// `bytes`: what the token adds to the text, as Tokenizer::token_bytes() or as Detokenizer::push() with
  /// special tokens kept. A stop token (end of turn, end of text) ends the answer; what comes later is
  /// ignored.
  std::vector<OutputEvent> push(TokenId id, std::string_view bytes);
  /// Ends the answer: shows what was held back, as content where it is unfinished markup.
  std::vector<OutputEvent> finish();

  /// The next token would be part of the thinking (for thinking budgets).
  bool in_reasoning() const;
  /// The last token belongs to the end of the thinking and shows nothing.
  bool ends_reasoning() const;
  /// The next token would be part of a tool call's markup.
  bool in_tool_call() const;

 private:
  using Family = std::variant<Gemma4Output, Qwen35Output>;

  struct Marker {
    TokenId id;
    std::string text;
    int meaning;  ///< Gemma4Output::Marker or Qwen35Output::Marker.
  };

  static Family make_family(OutputFormat format, const TokenLookup& lookup, std::span<const TokenId> prompt);
  void add_markers(OutputFormat format, const TokenLookup& lookup);
  const Marker* find_marker(TokenId id) const;
  void pass_text(std::string_view text);
  void pass_marker(const Marker& marker);

  EventWriter events_;
  std::vector<Marker> markers_;
  Family family_;
  Utf8Stream utf8_;
};

}  // namespace lanner::text
