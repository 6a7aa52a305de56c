// SPDX-License-Identifier: MIT
#include "server/responses_request.h"

#include <fmt/format.h>

#include <limits>

#include "server/problem.h"

namespace lanner::server {
namespace {

/// Tools are flat here: {type, name, description, parameters, strict}. Types other than function run on other
/// servers and are left out.
Json chat_tools(const JsonFields& fields) {
  const Json* list = fields.array("tools");
  if (list == nullptr) return nullptr;
  Json nested{{"tools", Json::array()}};
  for (std::size_t i = 0; i < list->size(); ++i) {
    const JsonFields tool((*list)[i], fmt::format("tools[{}]", i));
    if (tool.require_string("type") != "function") continue;
    check_tool_name(tool.require_string("name"), tool.path("name"));
    Json function = Json::object();
    for (const char* key : {"name", "description", "parameters", "strict"})
      if (const Json* value = tool.find(key)) function[key] = *value;
    nested["tools"].push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return read_tools(JsonFields(nested));
}

void read_reasoning_options(const JsonFields& fields, ChatRequest& chat) {
  const Json* reasoning = fields.object("reasoning");
  if (reasoning == nullptr) return;
  const JsonFields inner(*reasoning, "reasoning");
  if (const auto effort =
          inner.one_of("effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"}))
    apply_effort(*effort, chat.input);
  (void)inner.string("summary");
}

void read_included_logprobs(const JsonFields& fields, GenerationFields& generation) {
  const auto top = fields.integer("top_logprobs", {0, 20});
  const Json* include = fields.array("include");
  bool wanted = false;
  if (include != nullptr)
    for (const Json& name : *include) {
      if (!name.is_string()) refuse_type("include[0]", "a string", name);
      wanted = wanted || name == "message.output_text.logprobs";
    }
  if (wanted) generation.request.top_logprobs = static_cast<std::size_t>(top.value_or(0));
}

Json input_messages(const JsonFields& fields) {
  const Json& input = fields.require("input");
  Json messages = Json::array();
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
    return messages;
  }
  if (!input.is_array()) refuse_type("input", "a string or an array of items", input);
  for (std::size_t i = 0; i < input.size(); ++i) append_item(input[i], fmt::format("input[{}]", i), messages);
  if (messages.empty()) refuse_field("input", "invalid_value", "input is empty");
  return messages;
}

Json echoed_fields(const Json& body) {
  Json echo = Json::object();
  const std::pair<const char*, Json> kEchoed[] = {{"instructions", nullptr},
                                                  {"max_output_tokens", nullptr},
                                                  {"metadata", Json::object()},
                                                  {"parallel_tool_calls", true},
                                                  {"previous_response_id", nullptr},
                                                  {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                                                  {"temperature", nullptr},
                                                  {"text", {{"format", {{"type", "text"}}}}},
                                                  {"tool_choice", "auto"},
                                                  {"tools", Json::array()},
                                                  {"top_p", nullptr},
                                                  {"truncation", "disabled"},
                                                  {"user", nullptr}};
  for (const auto& [name, missing] : kEchoed)
    echo[name] = body.value(name, Json()).is_null() ? missing : body[name];
  return echo;
}

}  // namespace

std::optional<std::string> previous_response(const Json& body) {
  return JsonFields(body).string("previous_response_id");
}

ResponsesRequest read_responses_request(const Json& body, const RequestRules& rules, const Json& history) {
  const JsonFields fields(body);
  ResponsesRequest request;
  request.items = history;
  for (Json& message : input_messages(fields)) request.items.push_back(std::move(message));
  ChatRequest& chat = request.chat;
  chat.input.messages = Json::array();
  if (const auto instructions = fields.string("instructions"))
    chat.input.messages.push_back({{"role", "system"}, {"content", *instructions}});
  for (const Json& message : request.items) chat.input.messages.push_back(message);
  chat.input.tools = chat_tools(fields);
  chat.generation = read_generation(fields, rules);
  chat.generation.request.choices = 1;
  if (const auto tokens = fields.integer("max_output_tokens", {1, std::numeric_limits<std::int32_t>::max()}))
    chat.generation.request.max_tokens = static_cast<std::size_t>(*tokens);
  read_included_logprobs(fields, chat.generation);
  read_reasoning_options(fields, chat);
  chat.tool_choice = read_tool_choice(fields, chat.input.tools);
  chat.input.tools = visible_tools(chat.input.tools, chat.tool_choice);
  if (const Json* text = fields.object("text"))
    if (const Json* format = JsonFields(*text, "text").object("format"))
      chat.shape = read_response_format(*format, "text.format");
  (void)fields.one_of("truncation", {"auto", "disabled"});
  request.store = fields.boolean("store").value_or(true);
  request.echo = echoed_fields(body);
  if (rules.unknown_fields == UnknownFields::kRefused) {
    for (const char* name : {"previous_response_id"}) (void)fields.find(name);
    fields.refuse_unknown();
  }
  return request;
}

}  // namespace lanner::server
