// SPDX-License-Identifier: MIT
#include "server/output_shape.h"

#include <fmt/format.h>

#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::size_t kMostAlternatives = 10000;

const Json& check_schema(const Json& schema, const std::string& param) {
  if (!schema.is_object() && !schema.is_boolean()) refuse_type(param, "a JSON schema (an object)", schema);
  return schema;
}

void read_choice_list(const Json& list, OutputShape& shape) {
  shape.kind = OutputShape::Kind::kChoices;
  if (!list.is_array()) refuse_type(shape.param, "an array of strings", list);
  if (list.empty() || list.size() > kMostAlternatives)
    refuse_field(
        shape.param, "invalid_value",
        fmt::format("{} has {} entries, expected 1 to {}", shape.param, list.size(), kMostAlternatives));
  for (const Json& choice : list) {
    if (!choice.is_string())
      refuse_type(fmt::format("{}[{}]", shape.param, shape.choices.size()), "a string", choice);
    shape.choices.push_back(choice.get<std::string>());
  }
}

OutputShape read_structured_outputs(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  OutputShape shape;
  int given = 0;
  const auto begin = [&](const char* name) {
    shape.param = fields.path(name);
    ++given;
  };
  if (const Json* schema = fields.find("json")) {
    begin("json");
    shape.kind = OutputShape::Kind::kJsonSchema;
    shape.schema = schema->is_string() ? parse_body(schema->get_ref<const std::string&>()) : *schema;
    check_schema(shape.schema, shape.param);
  }
  if (const auto regex = fields.string("regex")) {
    begin("regex");
    shape.kind = OutputShape::Kind::kRegex;
    shape.text = *regex;
  }
  if (const Json* list = fields.find("choice")) {
    begin("choice");
    read_choice_list(*list, shape);
  }
  const auto syntax = fields.one_of("grammar_syntax", {"lark", "gbnf"});
  if (const auto grammar = fields.string("grammar")) {
    begin("grammar");
    // vLLM's users write either; GBNF is told by its arrow.
    const bool gbnf = syntax ? *syntax == "gbnf" : grammar->find("::=") != std::string::npos;
    shape.kind = gbnf ? OutputShape::Kind::kGbnf : OutputShape::Kind::kLark;
    shape.text = *grammar;
  }
  if (given != 1)
    refuse_field(path, "invalid_value",
                 fmt::format("{} has {} of json, regex, choice and grammar, expected one", path, given));
  return shape;
}

}  // namespace

OutputShape read_response_format(const Json& format, const std::string& path) {
  const JsonFields fields(format, path);
  fields.require("type");
  const std::string type = *fields.one_of("type", {"text", "json_object", "json_schema"});
  OutputShape shape;
  shape.param = path;
  if (type == "text") return shape;
  const Json* wrapped = fields.object("json_schema");
  const JsonFields inner = wrapped ? JsonFields(*wrapped, fields.path("json_schema")) : fields;
  const Json* schema = wrapped ? inner.find("schema") : fields.find("schema");
  if (type == "json_object" && schema == nullptr) {
    shape.kind = OutputShape::Kind::kJsonObject;
    return shape;
  }
  if (schema == nullptr) refuse_field(path + ".json_schema", "missing_field", path + " has no schema");
  (void)inner.string("name");
  (void)inner.string("description");
  shape.kind = OutputShape::Kind::kJsonSchema;
  shape.param = inner.path("schema");
  shape.schema = check_schema(*schema, shape.param);
  shape.strict = inner.flag("strict");
  return shape;
}

OutputShape read_output_shape(const JsonFields& fields) {
  const Json* format = fields.object("response_format");
  const Json* structured = fields.object("structured_outputs");
  OutputShape shape;
  if (format != nullptr) shape = read_response_format(*format, fields.path("response_format"));
  if (structured == nullptr) return shape;
  if (!shape.is_free())
    refuse_field(fields.path("structured_outputs"), "invalid_value",
                 "structured_outputs and response_format exclude each other");
  return read_structured_outputs(*structured, fields.path("structured_outputs"));
}

}  // namespace lanner::server
