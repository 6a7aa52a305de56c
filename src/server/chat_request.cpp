// SPDX-License-Identifier: MIT
#include "server/chat_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::int64_t kMostThoughts = std::numeric_limits<std::int32_t>::max();
const std::vector<std::string> kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};

void check_part(const Json& part, const std::string& path) {
  const JsonFields fields(part, path);
  const std::string type = fields.require_string("type");
  if (type == "text" || type == "refusal") return void(fields.require_string(type));
  for (const char* media : {"image_url", "input_audio", "video_url", "image", "audio", "video", "file"})
    if (type == media)
      refuse_field(path, "unsupported_modality",
                   fmt::format("{} is of type {}; the model takes text", path, type));
  refuse_field(path + ".type", "invalid_value", path + ".type is unknown, expected text");
}

void check_content(const JsonFields& message) {
  const Json* content = message.find("content");
  if (content == nullptr || content->is_string()) return;
  const std::string path = message.path("content");
  if (!content->is_array()) refuse_type(path, "a string or an array of parts", *content);
  for (std::size_t i = 0; i < content->size(); ++i) check_part((*content)[i], fmt::format("{}[{}]", path, i));
}

void check_calls(const JsonFields& message) {
  const Json* calls = message.array("tool_calls");
  if (calls == nullptr) return;
  for (std::size_t i = 0; i < calls->size(); ++i) {
    const JsonFields call((*calls)[i], fmt::format("{}[{}]", message.path("tool_calls"), i));
    (void)call.string("id");
    (void)call.one_of("type", {"function"});
    call.require("function");
    const JsonFields function(*call.object("function"), call.path("function"));
    (void)function.require_string("name");
    const Json* arguments = function.find("arguments");
    if (arguments != nullptr && !arguments->is_string() && !arguments->is_object())
      refuse_type(function.path("arguments"), "JSON in a string", *arguments);
  }
}

void check_message(const Json& json, const std::string& path) {
  const JsonFields message(json, path);
  message.require("role");
  const std::string role = *message.one_of("role", {"system", "developer", "user", "assistant", "tool"});
  check_content(message);
  (void)message.string("name");
  if (role == "assistant") {
    (void)message.string("reasoning_content");
    (void)message.string("reasoning");
    check_calls(message);
  } else {
    message.require("content");
    if (role == "tool") (void)message.string("tool_call_id");
  }
}

void read_template_options(const JsonFields& fields, text::ChatInput& input) {
  if (const Json* extra = fields.object("chat_template_kwargs")) {
    input.extra = *extra;
    const JsonFields kwargs(*extra, fields.path("chat_template_kwargs"));
    if (extra->contains("enable_thinking"))
      if (const auto thinking = kwargs.boolean("enable_thinking"))
        input.thinking = *thinking ? text::ThinkingSwitch::kOn : text::ThinkingSwitch::kOff;
  }
  if (!fields.boolean("add_generation_prompt").value_or(true))
    input.generation_prompt = text::GenerationPrompt::kOmit;
}

void read_reasoning(const JsonFields& fields, ChatRequest& chat) {
  if (const Json* reasoning = fields.object("reasoning")) {
    const JsonFields inner(*reasoning, fields.path("reasoning"));
    if (const auto effort = inner.one_of("effort", kEfforts)) apply_effort(*effort, chat.input);
    if (const auto budget = inner.integer("max_tokens", {0, kMostThoughts}))
      chat.generation.request.thinking_budget = static_cast<std::size_t>(*budget);
    chat.generation.exclude_reasoning = inner.flag("exclude");
  }
  if (const auto effort = fields.one_of("reasoning_effort", kEfforts)) apply_effort(*effort, chat.input);
  if (const auto budget = fields.integer("thinking_budget", {0, kMostThoughts}))
    chat.generation.request.thinking_budget = static_cast<std::size_t>(*budget);
}

void read_logprobs(const JsonFields& fields, GenerationFields& generation) {
  const bool wanted = fields.flag("logprobs");
  const auto top = read_top_logprobs(fields);
  if (top && *top > 0 && !wanted)
    refuse_field(fields.path("top_logprobs"), "invalid_value", "top_logprobs needs logprobs to be true");
  if (wanted) generation.request.top_logprobs = top.value_or(0);
  generation.log_all_tokens = fields.flag("logprobs_all");
}

void refuse_audio_output(const JsonFields& fields) {
  const Json* modalities = fields.array("modalities");
  const bool spoken = modalities != nullptr && std::ranges::find(*modalities, "audio") != modalities->end();
  const bool voiced = fields.find("audio") != nullptr;
  if (spoken || voiced)
    throw RequestError({.status = 501,
                        .code = "not_supported",
                        .message = "the model answers in text, not in sound",
                        .param = spoken ? "modalities" : "audio"});
}

}  // namespace

void apply_effort(const std::string& effort, text::ChatInput& input) {
  input.thinking = effort == "none" ? text::ThinkingSwitch::kOff : text::ThinkingSwitch::kOn;
  input.extra.erase("enable_thinking");
  if (effort != "none") input.extra["reasoning_effort"] = effort;
}

void check_messages(const Json& messages, const std::string& path) {
  if (!messages.is_array()) refuse_type(path, "an array", messages);
  if (messages.empty())
    refuse_field(path, "invalid_value", path + " is empty, expected at least one message");
  for (std::size_t i = 0; i < messages.size(); ++i)
    check_message(messages[i], fmt::format("{}[{}]", path, i));
}

text::ChatInput read_chat_input(const JsonFields& fields) {
  text::ChatInput input;
  const Json& messages = fields.require("messages");
  check_messages(messages, fields.path("messages"));
  input.messages = messages;
  input.tools = read_tools(fields);
  read_template_options(fields, input);
  return input;
}

ChatRequest read_chat_request(const Json& body, const RequestRules& rules) {
  const JsonFields fields(body);
  ChatRequest chat;
  chat.input = read_chat_input(fields);
  refuse_audio_output(fields);
  chat.generation = read_generation(fields, rules);
  read_max_tokens(fields, chat.generation);
  read_logprobs(fields, chat.generation);
  read_reasoning(fields, chat);
  chat.tool_choice = read_tool_choice(fields, chat.input.tools);
  chat.input.tools = visible_tools(chat.input.tools, chat.tool_choice);
  chat.shape = read_output_shape(fields);
  chat.continues_last = fields.flag("continue_final_message");
  if (chat.continues_last) {
    if (fields.boolean("add_generation_prompt").value_or(false))
      refuse_field("continue_final_message", "invalid_value",
                   "continue_final_message and add_generation_prompt exclude each other");
    chat.input.generation_prompt = text::GenerationPrompt::kOmit;
    if (chat.input.messages.back()["role"] != "assistant")
      refuse_field("continue_final_message", "invalid_value",
                   "continue_final_message needs an assistant message at the end");
  }
  if (rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
  return chat;
}

}  // namespace lanner::server
