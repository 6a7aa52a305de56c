// SPDX-License-Identifier: MIT
#include "api/answer_options.h"

#include <fmt/format.h>

#include "core/error.h"
#include "text/bounded_json.h"

namespace lanner::api {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& message) {
  throw lanner::Error(lanner::ErrorKind::kInvalidArgument, message);
}

Json read_json(const std::string& text, const char* field) {
  std::optional<Json> json = text::parse_bounded_json(text);
  if (!json) refuse(fmt::format("{} is no JSON text", field));
  return *std::move(json);
}

engine::AnswerShape::Kind shape_kind(Format format) {
  using Kind = engine::AnswerShape::Kind;
  switch (format) {
    case Format::kFree:
      return Kind::kFree;
    case Format::kJsonObject:
      return Kind::kJsonObject;
    case Format::kJsonSchema:
      return Kind::kJsonSchema;
    case Format::kRegex:
      return Kind::kRegex;
    case Format::kChoice:
      return Kind::kChoices;
    case Format::kGbnf:
      return Kind::kGbnf;
    case Format::kLark:
      return Kind::kLark;
  }
  refuse("format is none of those there are");
}

}  // namespace

engine::AnswerShape answer_shape(const GenerateOptions& options) {
  engine::AnswerShape shape{.kind = shape_kind(options.format), .choices = options.choices};
  const bool needs_text =
      !shape.is_free() && options.format != Format::kJsonObject && options.format != Format::kChoice;
  if (needs_text == options.format_text.empty())
    refuse(needs_text ? "format_text is empty, expected the schema, expression or grammar of the format"
                      : "format_text is given, but the format takes none");
  if ((options.format == Format::kChoice) == options.choices.empty())
    refuse(options.choices.empty() ? "choices is empty, expected texts to choose from"
                                   : "choices are given, but the format is another");
  if (options.format == Format::kJsonSchema)
    shape.schema = read_json(options.format_text, "format_text");
  else
    shape.text = options.format_text;
  return shape;
}

engine::CallableTools callable_tools(const GenerateOptions& options) {
  engine::CallableTools tools;
  const bool required = options.tool_use == ToolUse::kRequired;
  if (required) tools.use = text::grammar::ToolUse::kRequired;
  if (required && options.tools.empty()) refuse("tool_use is required, but there are no tools");
  if (options.tools.empty()) return tools;
  tools.tools = read_json(options.tools, "tools");
  if (!tools.tools.is_array() || tools.tools.empty())
    refuse("tools is no array of tools, expected [{\"type\": \"function\", \"function\": {...}}]");
  for (std::size_t i = 0; i < tools.tools.size(); ++i)
    if (!tools.tools[i].is_object()) refuse(fmt::format("tools[{}] is no object", i));
  return tools;
}

Json message_json(const Message& message) {
  Json json{{"role", message.role}, {"content", message.content}};
  for (const ToolCall& call : message.tool_calls)
    json["tool_calls"].push_back(
        {{"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return json;
}

}  // namespace lanner::api
