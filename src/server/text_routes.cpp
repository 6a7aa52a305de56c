// SPDX-License-Identifier: MIT
#include "server/chat_request.h"
#include "server/problem.h"
#include "server/prompt.h"
#include "server/routes.h"
#include "text/unicode.h"

namespace lanner::server {
namespace {

/// One token as text, or as an array of bytes when it is only part of a character.
Json piece_json(const std::string& bytes) {
  if (text::find_invalid_utf8(bytes) == std::string_view::npos) return bytes;
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

/// vLLM's name for a field, or llama.cpp's.
std::optional<bool> either(const JsonFields& fields, const char* name, const char* alias) {
  const auto value = fields.boolean(name);
  const auto other = fields.boolean(alias);
  return value ? value : other;
}

std::vector<TokenId> tokens_of(const JsonFields& fields, const engine::TextParts& parts) {
  if (fields.find("messages") != nullptr) return render_prompt(parts, read_chat_input(fields)).ids;
  const auto prompt = fields.string("prompt");
  const auto content = fields.string("content");
  if (!prompt && !content) refuse_field("prompt", "missing_field", "prompt or messages is required");
  const bool special = either(fields, "add_special_tokens", "add_special").value_or(prompt.has_value());
  const std::string& text = prompt ? *prompt : *content;
  if (!fields.boolean("parse_special").value_or(true)) {
    std::vector<TokenId> ids =
        parts.tokenizer().encode(text, {.added_tokens = text::AddedTokenUse::kNotMarkers});
    const std::vector<TokenId> begin = parts.encode_plain("");
    if (special) ids.insert(ids.begin(), begin.begin(), begin.end());
    return ids;
  }
  return encode_text(parts, text, special ? BeginningTokens::kAdd : BeginningTokens::kOmit);
}

}  // namespace

Reply tokenize(const Service::Call& call, const Json& body) {
  const JsonFields fields(body);
  const std::vector<TokenId> ids = tokens_of(fields, call.served->model->text());
  Json json{{"tokens", ids}, {"count", ids.size()}, {"max_model_len", call.served->rules.context}};
  const bool llama_pieces = fields.flag("with_pieces");
  if (fields.flag("return_pieces") || fields.flag("return_token_strs") || llama_pieces) {
    const text::Tokenizer& tokenizer = call.served->model->tokenizer();
    Json pieces = Json::array();
    Json pairs = Json::array();
    for (const TokenId id : ids) {
      pieces.push_back(piece_json(tokenizer.token_bytes(id)));
      pairs.push_back({{"id", id}, {"piece", pieces.back()}});
    }
    json["token_strs"] = std::move(pieces);
    if (llama_pieces) json["tokens"] = std::move(pairs);
  }
  return call.reply(json);
}

Reply detokenize(const Service::Call& call, const Json& body) {
  const JsonFields fields(body);
  fields.require("tokens");
  const std::vector<TokenId> ids = *fields.token_ids("tokens", call.served->rules.vocabulary);
  const auto special =
      fields.flag("skip_special_tokens") ? text::SpecialTokens::kSkip : text::SpecialTokens::kKeep;
  const std::string text = call.served->model->tokenizer().decode(ids, {.special_tokens = special});
  return call.reply({{"prompt", text}, {"content", text}});
}

Reply apply_template(const Service::Call& call, const Json& body) {
  const ChatRequest chat = read_chat_request(body, call.served->rules);
  const engine::TextParts& parts = call.served->model->text();
  const RenderedPrompt prompt =
      chat.continues_last ? render_prompt(parts, chat) : render_prompt(parts, chat.input);
  return call.reply({{"prompt", prompt.text}, {"tokens", prompt.ids}});
}

}  // namespace lanner::server
