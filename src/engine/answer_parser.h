// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "text/detokenizer.h"
#include "text/output_parser.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// What an answer is read as.
enum class AnswerForm : std::uint8_t {
  kChat,   ///< reasoning, content and tool calls, after a rendered chat prompt
  kPlain,  ///< text without structure: everything is content
};

/// The marker with which an answer may open its reasoning; see text::reasoning_opener().
std::optional<TokenId> reasoning_opener(const text::Tokenizer& tokenizer, AnswerForm form,
                                        std::span<const TokenId> prompt);

/// Turns the tokens of an answer into events. The tokenizer must outlive it.
class AnswerParser {
 public:
  /// `prompt` tells whether the answer begins inside reasoning; `tools` (array or null) how arguments are
  /// typed.
  AnswerParser(const text::Tokenizer& tokenizer, AnswerForm form, std::span<const TokenId> prompt,
               const nlohmann::ordered_json& tools);

  std::vector<text::OutputEvent> push(TokenId token);
  /// Ends the answer.
  std::vector<text::OutputEvent> finish();
  /// The next token would be part of the reasoning.
  bool in_reasoning() const;
  /// The last token belongs to the end of the reasoning and shows nothing.
  bool ends_reasoning() const;
  /// The next token would be part of a tool call's markup.
  bool in_tool_call() const;

 private:
  const text::Tokenizer* tokenizer_;
  std::variant<text::Detokenizer, text::OutputParser> reader_;
};

}  // namespace lanner::engine
