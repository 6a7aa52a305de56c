// SPDX-License-Identifier: MIT
#include "server/messages_blocks.h"

#include <fmt/format.h>

#include "server/problem.h"

namespace lanner::server {
namespace {

[[noreturn]] void refuse_media(const std::string& path, const std::string& type) {
  refuse_field(path, "unsupported_modality",
               fmt::format("{} is of type {}; the model takes text", path, type));
}

/// A document block's text; documents that are no text cannot be read.
std::string document_text(const JsonFields& block) {
  block.require("source");
  const JsonFields source(*block.object("source"), block.path("source"));
  const std::string type = source.require_string("type");
  if (type == "text") return source.require_string("data");
  if (type == "content")
    if (const auto text = source.string("content")) return *text;
  refuse_media(block.path("source"), "document (" + type + ")");
}

std::string result_text(const JsonFields& block) {
  const Json* content = block.find("content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) refuse_type(block.path("content"), "a string or an array of blocks", *content);
  std::string text;
  for (std::size_t i = 0; i < content->size(); ++i) {
    const JsonFields part((*content)[i], fmt::format("{}[{}]", block.path("content"), i));
    const std::string type = part.require_string("type");
    if (type != "text") refuse_media(part.path("type"), type);
    text += part.require_string("text");
  }
  return text;
}

/// What the blocks of one message come to.
struct Gathered {
  std::string text;
  std::string reasoning;
  Json calls = Json::array();
  Json results = Json::array();
};

void gather_block(const Json& json, const std::string& path, const std::string& role, Gathered& all) {
  const JsonFields block(json, path);
  const std::string type = block.require_string("type");
  const bool assistant = role == "assistant";
  if (type == "text") {
    all.text += block.require_string("text");
  } else if (type == "document" && !assistant) {
    all.text += document_text(block);
  } else if (type == "thinking" && assistant) {
    all.reasoning += block.require_string("thinking");
  } else if (type == "redacted_thinking" && assistant) {
    return;
  } else if (type == "tool_use" && assistant) {
    block.require("input");
    all.calls.push_back(
        {{"id", block.require_string("id")},
         {"type", "function"},
         {"function",
          {{"name", block.require_string("name")}, {"arguments", write_json(*block.object("input"))}}}});
  } else if (type == "tool_result" && !assistant) {
    all.results.push_back({{"role", "tool"},
                           {"tool_call_id", block.require_string("tool_use_id")},
                           {"content", result_text(block)}});
    (void)block.boolean("is_error");
  } else if (type == "image" || type == "document") {
    refuse_media(path, type);
  } else {
    refuse_field(path + ".type", "invalid_value",
                 fmt::format("{}.type is not for a turn of the {}", path, role));
  }
}

}  // namespace

void append_message(const Json& json, const std::string& path, Json& messages) {
  const JsonFields message(json, path);
  message.require("role");
  const std::string role = *message.one_of("role", {"user", "assistant", "system"});
  const Json& content = message.require("content");
  if (content.is_string()) {
    messages.push_back({{"role", role}, {"content", content}});
    return;
  }
  if (!content.is_array()) refuse_type(message.path("content"), "a string or an array of blocks", content);
  Gathered all;
  for (std::size_t i = 0; i < content.size(); ++i)
    gather_block(content[i], fmt::format("{}[{}]", message.path("content"), i), role, all);
  for (Json& result : all.results) messages.push_back(std::move(result));
  const bool silent = all.text.empty() && all.calls.empty() && all.reasoning.empty();
  if (silent && !all.results.empty()) return;
  Json turn{{"role", role}, {"content", all.text}};
  if (!all.reasoning.empty()) turn["reasoning_content"] = all.reasoning;
  if (!all.calls.empty()) turn["tool_calls"] = std::move(all.calls);
  messages.push_back(std::move(turn));
}

}  // namespace lanner::server
