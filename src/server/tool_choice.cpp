// SPDX-License-Identifier: MIT
#include "server/tool_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/message_text.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::size_t kLongestName = 64;

std::string tool_name(const Json& tool) { return tool.at("function").at("name").get<std::string>(); }

/// {type: "function", function: {name}}, or the flat {type: "function", name} of the Responses API.
std::string named_tool(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  (void)fields.one_of("type", {"function"});
  if (const Json* function = fields.object("function"))
    return JsonFields(*function, fields.path("function")).require_string("name");
  return fields.require_string("name");
}

ToolChoice allowed_tools(const JsonFields& outer, const std::string& path) {
  const Json* nested = outer.object("allowed_tools");
  const JsonFields fields = nested ? JsonFields(*nested, path + ".allowed_tools") : outer;
  ToolChoice choice;
  if (fields.one_of("mode", {"auto", "required"}) == "required") choice.use = ToolChoice::Use::kRequired;
  fields.require("tools");
  const Json* list = fields.array("tools");
  for (const Json& tool : *list)
    choice.names.push_back(
        named_tool(tool, fmt::format("{}[{}]", fields.path("tools"), choice.names.size())));
  if (choice.names.empty())
    refuse_field(fields.path("tools"), "invalid_value", fields.path("tools") + " is empty");
  return choice;
}

ToolChoice choice_of(const Json& value, const std::string& path) {
  if (value.is_string()) {
    const std::string& word = value.get_ref<const std::string&>();
    if (word == "auto") return {};
    if (word == "none") return {.use = ToolChoice::Use::kNone};
    if (word == "required" || word == "any") return {.use = ToolChoice::Use::kRequired};
    refuse_field(
        path, "invalid_value",
        fmt::format("{} is {}, expected auto, none, required or a function", path, io::in_quotes(word)));
  }
  if (!value.is_object()) refuse_type(path, "a string or an object", value);
  const JsonFields fields(value, path);
  fields.require("type");
  if (*fields.one_of("type", {"function", "allowed_tools"}) == "allowed_tools")
    return allowed_tools(fields, path);
  return {.use = ToolChoice::Use::kRequired, .names = {named_tool(value, path)}};
}

}  // namespace

void check_tool_name(const std::string& name, const std::string& param) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  };
  if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, allowed))
    refuse_field(param, "invalid_value",
                 fmt::format("{} is {}, expected 1 to {} letters, digits and _ . -", param,
                             io::in_quotes(name), kLongestName));
}

Json read_tools(const JsonFields& fields) {
  const Json* list = fields.array("tools");
  if (list == nullptr || list->empty()) return nullptr;
  std::set<std::string> names;
  Json tools = Json::array();
  for (const Json& tool : *list) {
    const std::string path = fmt::format("{}[{}]", fields.path("tools"), tools.size());
    const JsonFields outer(tool, path);
    (void)outer.one_of("type", {"function"});
    outer.require("function");
    const JsonFields function(*outer.object("function"), path + ".function");
    const std::string name = function.require_string("name");
    check_tool_name(name, function.path("name"));
    if (!names.insert(name).second)
      refuse_field(function.path("name"), "invalid_value", function.path("name") + " is used twice");
    (void)function.string("description");
    (void)function.object("parameters");
    (void)function.boolean("strict");
    Json kept = tool;
    kept["type"] = "function";
    // Templates read these as text and schema: null is absent.
    for (const char* key : {"description", "parameters", "strict"})
      if (kept["function"].contains(key) && kept["function"][key].is_null()) kept["function"].erase(key);
    tools.push_back(std::move(kept));
  }
  return tools;
}

void check_tool_names(const std::vector<std::string>& names, const Json& tools, const std::string& param) {
  for (const std::string& name : names)
    if (tools.is_null() || std::ranges::none_of(tools, [&](const Json& t) { return tool_name(t) == name; }))
      refuse_field(param, "invalid_value",
                   fmt::format("{} names {}, which is not among the tools", param, io::in_quotes(name)));
}

ToolChoice read_tool_choice(const JsonFields& fields, const Json& tools) {
  ToolChoice choice;
  if (const Json* value = fields.find("tool_choice")) choice = choice_of(*value, fields.path("tool_choice"));
  choice.parallel = fields.boolean("parallel_tool_calls").value_or(true);
  if (choice.use == ToolChoice::Use::kRequired && tools.is_null())
    refuse_field(fields.path("tool_choice"), "invalid_value",
                 "tool_choice asks for a call, but there are no tools");
  check_tool_names(choice.names, tools, fields.path("tool_choice"));
  return choice;
}

Json visible_tools(const Json& tools, const ToolChoice& choice) {
  if (tools.is_null() || choice.use == ToolChoice::Use::kNone) return nullptr;
  if (choice.names.empty()) return tools;
  Json visible = Json::array();
  for (const Json& tool : tools)
    if (std::ranges::find(choice.names, tool_name(tool)) != choice.names.end()) visible.push_back(tool);
  return visible;
}

}  // namespace lanner::server
