// SPDX-License-Identifier: MIT
#include "text/chat_messages.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/error.h"
#include "text/bounded_json.h"

namespace lanner::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& where, const std::string& problem) {
  throw Error(ErrorKind::kInvalidArgument, where + ": " + problem);
}

std::string text_member(const OrderedJson& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// The text of a content that is a string, null or a list of text parts.
std::string plain_text(const OrderedJson& message, const std::string& where) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) fail(where + ".content", "expected text or a list of parts");
  std::string text;
  for (const OrderedJson& part : *content) {
    if (!part.is_object() || !part.contains("text") || !part["text"].is_string())
      fail(where + ".content", "a system message can only hold text parts");
    text += part["text"].get<std::string>();
  }
  return text;
}

bool is_system(const OrderedJson& message) { return message["role"] == "system"; }

OrderedJson merge_system_messages(const OrderedJson& messages) {
  size_t count = 0;
  for (const OrderedJson& message : messages) count += is_system(message) ? 1 : 0;
  if (count == 0 || (count == 1 && is_system(messages[0]))) return messages;
  std::string text;
  bool first = true;
  OrderedJson rest = OrderedJson::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!is_system(messages[i])) {
      rest.push_back(messages[i]);
      continue;
    }
    if (!first) text += "\n\n";
    first = false;
    text += plain_text(messages[i], fmt::format("messages[{}]", i));
  }
  OrderedJson merged = OrderedJson::array({OrderedJson{{"role", "system"}, {"content", text}}});
  for (OrderedJson& message : rest) merged.push_back(std::move(message));
  return merged;
}

void prepare_arguments(OrderedJson& call, const std::string& where) {
  if (!call.is_object()) fail(where, "expected an object");
  OrderedJson& function = call.contains("function") ? call["function"] : call;
  if (!function.is_object() || text_member(function, "name").empty())
    fail(where, "expected a function with a name");
  const auto arguments = function.find("arguments");
  if (arguments == function.end()) return;
  if (arguments->is_null() || (arguments->is_string() && arguments->get_ref<const std::string&>().empty())) {
    *arguments = OrderedJson::object();
  } else if (arguments->is_string()) {
    std::optional<OrderedJson> parsed = parse_bounded_json(arguments->get_ref<const std::string&>());
    if (!parsed) fail(where + ".function.arguments", "the text is not valid JSON");
    *arguments = std::move(*parsed);
  }
  if (!arguments->is_object()) fail(where + ".function.arguments", "expected a JSON object");
}

void prepare_content(OrderedJson& content, const std::string& where) {
  if (content.is_string() || content.is_null()) return;
  if (!content.is_array()) fail(where, "expected text, null or a list of parts");
  static constexpr std::pair<const char*, const char*> kMedia[] = {
      {"image_url", "image"}, {"input_audio", "audio"}, {"video_url", "video"}};
  for (OrderedJson& part : content) {
    if (!part.is_object()) fail(where, "every part must be an object with a type");
    for (const auto& [published, plain] : kMedia)
      if (text_member(part, "type") == published) part["type"] = plain;
  }
}

void prepare_assistant(OrderedJson& message, const std::string& where) {
  if (!message.contains("content") || message["content"].is_null()) message["content"] = "";
  const auto reasoning = message.find("reasoning");
  if (reasoning != message.end() && reasoning->is_string() && !message.contains("reasoning_content")) {
    const std::string text = reasoning->get<std::string>();
    message["reasoning_content"] = text;
  }
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || calls->is_null()) return;
  if (!calls->is_array()) fail(where + ".tool_calls", "expected a list");
  for (size_t i = 0; i < calls->size(); ++i)
    prepare_arguments((*calls)[i], fmt::format("{}.tool_calls[{}]", where, i));
}

/// The first type of a schema's anyOf or oneOf that is not null.
std::optional<std::string> branch_type(const OrderedJson& schema, bool& nullable) {
  std::optional<std::string> found;
  for (const char* key : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(key);
    if (branches == schema.end() || !branches->is_array()) continue;
    for (const OrderedJson& branch : *branches) {
      if (!branch.is_object() || !branch.contains("type") || !branch["type"].is_string()) continue;
      if (branch["type"] == "null")
        nullable = true;
      else if (!found)
        found = branch["type"].get<std::string>();
    }
  }
  return found;
}

std::string inferred_type(const OrderedJson& schema, bool& nullable) {
  if (schema.contains("enum")) return "string";
  if (schema.contains("properties")) return "object";
  if (schema.contains("items")) return "array";
  return branch_type(schema, nullable).value_or("string");
}

std::string listed_type(const OrderedJson& types, bool& nullable) {
  std::string chosen = "string";
  bool found = false;
  for (const OrderedJson& type : types) {
    if (!type.is_string()) continue;
    if (type == "null") {
      nullable = true;
    } else if (!std::exchange(found, true)) {
      chosen = type.get<std::string>();
    }
  }
  return chosen;
}

void prepare_schema(OrderedJson& schema, int depth) {
  constexpr int kMaxDepth = 64;
  if (!schema.is_object() || depth > kMaxDepth) return;
  bool nullable = false;
  const auto type = schema.find("type");
  if (type == schema.end() || type->is_null()) {
    const std::string inferred = inferred_type(schema, nullable);
    schema["type"] = inferred;
  } else if (type->is_array()) {
    const std::string listed = listed_type(*type, nullable);
    schema["type"] = listed;
  }
  if (nullable && !schema.contains("nullable")) schema["nullable"] = true;
  if (schema.contains("properties") && schema["properties"].is_object())
    for (auto& [name, property] : schema["properties"].items()) prepare_schema(property, depth + 1);
  if (schema.contains("items")) prepare_schema(schema["items"], depth + 1);
}

}  // namespace

nlohmann::ordered_json prepare_messages(const nlohmann::ordered_json& messages, RolePolicy policy) {
  if (!messages.is_array()) fail("messages", "expected a list");
  OrderedJson prepared = messages;
  for (size_t i = 0; i < prepared.size(); ++i) {
    OrderedJson& message = prepared[i];
    const std::string where = fmt::format("messages[{}]", i);
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      fail(where, "expected an object with a role");
    if (message["role"] == "developer") message["role"] = "system";
    // A tool's result may be any JSON value.
    if (message.contains("content") && message["role"] != "tool")
      prepare_content(message["content"], where + ".content");
    if (message["role"] == "assistant") prepare_assistant(message, where);
  }
  return policy == RolePolicy::kMerge ? merge_system_messages(prepared) : prepared;
}

nlohmann::ordered_json prepare_tools(const nlohmann::ordered_json& tools, SchemaUse use) {
  if (tools.is_null()) return nullptr;
  if (!tools.is_array()) fail("tools", "expected a list");
  OrderedJson prepared = OrderedJson::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    OrderedJson tool = tools[i];
    const std::string where = fmt::format("tools[{}]", i);
    if (!tool.is_object()) fail(where, "expected an object");
    if (!tool.contains("function") && tool.contains("name")) {
      tool.erase("type");
      tool = OrderedJson{{"type", "function"}, {"function", tool}};
    }
    if (!tool.contains("function") || !tool["function"].is_object() ||
        text_member(tool["function"], "name").empty())
      fail(where, "expected a function with a name");
    if (use == SchemaUse::kReads && tool["function"].contains("parameters"))
      prepare_schema(tool["function"]["parameters"], 0);
    prepared.push_back(std::move(tool));
  }
  return prepared;
}

}  // namespace lanner::text
