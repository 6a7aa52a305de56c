// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "server/problem.h"
#include "server/responses_request.h"

namespace lanner::server {
namespace {

/// The text of a message item's parts.
std::string parts_text(const JsonFields& item) {
  const Json& content = item.require("content");
  if (content.is_string()) return content.get<std::string>();
  const std::string path = item.path("content");
  if (!content.is_array()) refuse_type(path, "a string or an array of parts", content);
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const JsonFields part(content[i], fmt::format("{}[{}]", path, i));
    const std::string type = part.require_string("type");
    if (type == "input_text" || type == "output_text" || type == "text")
      text += part.require_string("text");
    else if (type == "refusal")
      text += part.require_string("refusal");
    else if (type == "input_image" || type == "input_file" || type == "input_audio")
      refuse_field(part.path("type"), "unsupported_modality",
                   fmt::format("{} is {}; the model takes text", part.path("type"), type));
    else
      refuse_field(part.path("type"), "invalid_value", part.path("type") + " is unknown");
  }
  return text;
}

/// Thoughts and calls belong to one assistant turn: the last message, when it is one that may still grow.
Json& assistant_turn(Json& messages) {
  const bool grows = !messages.empty() && messages.back()["role"] == "assistant" &&
                     messages.back().value("content", std::string()).empty();
  if (!grows) messages.push_back({{"role", "assistant"}, {"content", ""}});
  return messages.back();
}

void append_call(const JsonFields& item, Json& messages) {
  Json call{
      {"id", item.require_string("call_id")},
      {"type", "function"},
      {"function", {{"name", item.require_string("name")}, {"arguments", item.require_string("arguments")}}}};
  if (messages.empty() || messages.back()["role"] != "assistant")
    messages.push_back({{"role", "assistant"}, {"content", ""}});
  messages.back()["tool_calls"].push_back(std::move(call));
}

void append_reasoning(const JsonFields& item, Json& messages) {
  std::string text;
  for (const char* key : {"content", "summary"})
    if (const Json* parts = item.array(key); parts != nullptr && text.empty())
      for (const Json& part : *parts)
        if (part.is_object() && part.contains("text") && part["text"].is_string()) text += part["text"];
  if (!text.empty()) assistant_turn(messages)["reasoning_content"] = text;
}

}  // namespace

void append_item(const Json& json, const std::string& path, Json& messages) {
  const JsonFields item(json, path);
  const std::string type = item.string("type").value_or("message");
  if (type == "function_call") return append_call(item, messages);
  if (type == "reasoning") return append_reasoning(item, messages);
  if (type == "function_call_output") {
    const Json& output = item.require("output");
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", item.require_string("call_id")},
                        {"content", output.is_string() ? output.get<std::string>() : write_json(output)}});
    return;
  }
  if (type != "message")
    refuse_field(item.path("type"), "unsupported_value",
                 item.path("type") + " is of no kind this server knows");
  item.require("role");
  const std::string role = *item.one_of("role", {"system", "developer", "user", "assistant"});
  const std::string text = parts_text(item);
  if (role == "assistant")
    assistant_turn(messages)["content"] = text;
  else
    messages.push_back({{"role", role}, {"content", text}});
}

}  // namespace lanner::server
