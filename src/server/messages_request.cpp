// SPDX-License-Identifier: MIT
#include "server/messages_request.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "server/messages_blocks.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::int64_t kMostAnthropicTokens = std::numeric_limits<std::int32_t>::max();
/// Claude Code's first system block changes on every call, which would defeat prefix reuse.
constexpr std::string_view kBillingBlock = "x-anthropic-billing-header:";

std::string system_text(const JsonFields& fields) {
  const Json* system = fields.find("system");
  if (system == nullptr) return {};
  if (system->is_string()) return system->get<std::string>();
  if (!system->is_array()) refuse_type("system", "a string or an array of text blocks", *system);
  std::string text;
  for (std::size_t i = 0; i < system->size(); ++i) {
    const JsonFields block((*system)[i], fmt::format("system[{}]", i));
    block.require("type");
    (void)block.one_of("type", {"text"});
    const std::string part = block.require_string("text");
    if (part.starts_with(kBillingBlock)) continue;
    text += (text.empty() ? "" : "\n\n") + part;
  }
  return text;
}

/// Tools of Anthropic's servers have a type of their own and are dropped.
Json openai_tools(const JsonFields& fields) {
  const Json* list = fields.array("tools");
  if (list == nullptr) return nullptr;
  Json tools = Json::array();
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const JsonFields tool((*list)[i], fmt::format("tools[{}]", i));
    const auto type = tool.string("type");
    if (type && *type != "custom") continue;
    const std::string name = tool.require_string("name");
    check_tool_name(name, tool.path("name"));
    if (!names.insert(name).second)
      refuse_field(tool.path("name"), "invalid_value", tool.path("name") + " is used twice");
    Json function{{"name", name}};
    if (const auto description = tool.string("description")) function["description"] = *description;
    tool.require("input_schema");
    function["parameters"] = *tool.object("input_schema");
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return tools.empty() ? Json(nullptr) : tools;
}

ToolChoice anthropic_tool_choice(const JsonFields& fields, const Json& tools) {
  const Json* value = fields.object("tool_choice");
  ToolChoice choice;
  if (value == nullptr) return choice;
  const JsonFields inner(*value, "tool_choice");
  inner.require("type");
  const std::string type = *inner.one_of("type", {"auto", "any", "tool", "none"});
  if (type == "none") choice.use = ToolChoice::Use::kNone;
  if (type == "any" || type == "tool") choice.use = ToolChoice::Use::kRequired;
  if (type == "tool") choice.names = {inner.require_string("name")};
  choice.parallel = !inner.flag("disable_parallel_tool_use");
  if (choice.use == ToolChoice::Use::kRequired && tools.is_null())
    refuse_field("tool_choice", "invalid_value", "tool_choice asks for a call, but there are no tools");
  check_tool_names(choice.names, tools, "tool_choice.name");
  return choice;
}

void read_thinking(const JsonFields& fields, ChatRequest& chat) {
  const Json* value = fields.object("thinking");
  if (value == nullptr) return;
  const JsonFields thinking(*value, "thinking");
  thinking.require("type");
  const std::string type = *thinking.one_of("type", {"enabled", "disabled", "adaptive"});
  chat.input.thinking = type == "disabled" ? text::ThinkingSwitch::kOff : text::ThinkingSwitch::kOn;
  if (const auto budget = thinking.integer("budget_tokens", {0, kMostAnthropicTokens}))
    if (type == "enabled") chat.generation.request.thinking_budget = static_cast<std::size_t>(*budget);
}

Json openai_messages(const JsonFields& fields) {
  fields.require("messages");
  const Json* list = fields.array("messages");
  if (list->empty())
    refuse_field("messages", "invalid_value", "messages is empty, expected at least one message");
  Json messages = Json::array();
  const std::string system = system_text(fields);
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  for (std::size_t i = 0; i < list->size(); ++i)
    append_message((*list)[i], fmt::format("messages[{}]", i), messages);
  return messages;
}

}  // namespace

ChatRequest read_messages_request(const Json& body, const RequestRules& rules, MessagesUse use) {
  const JsonFields fields(body);
  ChatRequest chat;
  chat.input.messages = openai_messages(fields);
  if (chat.input.messages.empty())
    refuse_field("messages", "invalid_value", "messages hold nothing to answer");
  chat.input.tools = openai_tools(fields);
  chat.generation = read_generation(fields, rules);
  if (use == MessagesUse::kAnswer) {
    fields.require("max_tokens");
    chat.generation.request.max_tokens =
        static_cast<std::size_t>(*fields.integer("max_tokens", {1, kMostAnthropicTokens}));
  }
  chat.generation.request.stop = read_stops(fields, "stop_sequences");
  read_thinking(fields, chat);
  chat.tool_choice = anthropic_tool_choice(fields, chat.input.tools);
  chat.input.tools = visible_tools(chat.input.tools, chat.tool_choice);
  // An assistant turn at the end is a beginning for the answer.
  const Json& last = chat.input.messages.back();
  if (use == MessagesUse::kAnswer && last["role"] == "assistant" && !last.contains("tool_calls")) {
    chat.continues_last = true;
    chat.input.generation_prompt = text::GenerationPrompt::kOmit;
  }
  if (rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
  return chat;
}

}  // namespace lanner::server
