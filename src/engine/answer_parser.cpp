// SPDX-License-Identifier: MIT
#include "engine/answer_parser.h"

namespace lanner::engine {
namespace {

using Reader = std::variant<text::Detokenizer, text::OutputParser>;

Reader make_reader(const text::Tokenizer& tokenizer, AnswerForm form, std::span<const TokenId> prompt,
                   const nlohmann::ordered_json& tools) {
  const text::TokenLookup lookup = [&](std::string_view text) { return tokenizer.token_id(text); };
  const auto format = text::detect_output_format(lookup);
  if (form == AnswerForm::kPlain || !format)
    return text::Detokenizer(tokenizer, {.special_tokens = text::SpecialTokens::kSkip});
  return text::OutputParser(*format, lookup, prompt, {.tools = tools});
}

std::vector<text::OutputEvent> as_content(std::string text) {
  if (text.empty()) return {};
  return {{.kind = text::OutputEvent::Kind::kContent, .text = std::move(text)}};
}

}  // namespace

std::optional<TokenId> reasoning_opener(const text::Tokenizer& tokenizer, AnswerForm form,
                                        std::span<const TokenId> prompt) {
  const text::TokenLookup lookup = [&](std::string_view text) { return tokenizer.token_id(text); };
  const auto format = text::detect_output_format(lookup);
  if (form == AnswerForm::kPlain || !format) return std::nullopt;
  return text::reasoning_opener(*format, lookup, prompt);
}

AnswerParser::AnswerParser(const text::Tokenizer& tokenizer, AnswerForm form, std::span<const TokenId> prompt,
                           const nlohmann::ordered_json& tools)
    : tokenizer_(&tokenizer), reader_(make_reader(tokenizer, form, prompt, tools)) {}

std::vector<text::OutputEvent> AnswerParser::push(TokenId token) {
  if (auto* parser = std::get_if<text::OutputParser>(&reader_)) {
    // The parser knows its markers by id; other control tokens are not for people.
    return parser->push(token,
                        tokenizer_->is_special(token) ? std::string() : tokenizer_->token_bytes(token));
  }
  return as_content(std::get<text::Detokenizer>(reader_).push(token));
}

std::vector<text::OutputEvent> AnswerParser::finish() {
  if (auto* parser = std::get_if<text::OutputParser>(&reader_)) return parser->finish();
  return as_content(std::get<text::Detokenizer>(reader_).finish());
}

bool AnswerParser::in_reasoning() const {
  const auto* parser = std::get_if<text::OutputParser>(&reader_);
  return parser != nullptr && parser->in_reasoning();
}

bool AnswerParser::ends_reasoning() const {
  const auto* parser = std::get_if<text::OutputParser>(&reader_);
  return parser != nullptr && parser->ends_reasoning();
}

bool AnswerParser::in_tool_call() const {
  const auto* parser = std::get_if<text::OutputParser>(&reader_);
  return parser != nullptr && parser->in_tool_call();
}

}  // namespace lanner::engine
