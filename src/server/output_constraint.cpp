// SPDX-License-Identifier: MIT
#include "server/output_constraint.h"

#include <algorithm>

#include "engine/grammar_constraint.h"
#include "server/problem.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/lark.h"
#include "text/grammar/regex.h"
#include "text/grammar/tool_grammar.h"

namespace lanner::server {
namespace {

namespace grammar = text::grammar;
using grammar::GrammarSource;
using grammar::GrammarVocabulary;

bool is_schema_shape(const OutputShape& shape) {
  return shape.kind == OutputShape::Kind::kJsonSchema || shape.kind == OutputShape::Kind::kJsonObject;
}

/// Makes a matcher of the grammar for every choice. A grammar that cannot be had is the request's fault.
engine::ConstraintFactory constraint_of(const ServedModel& served, const std::string& key,
                                        const std::string& param, const char* invalid,
                                        const GrammarCache::Write& write) {
  try {
    const auto compiled = served.grammars->find(key, write);
    return [compiled, model = served.model] {
      return std::make_unique<engine::GrammarConstraint>(compiled, model->tokenizer());
    };
  } catch (const RequestError&) {
    throw;
  } catch (const Error& error) {
    const bool unsupported = error.kind() == ErrorKind::kUnsupported;
    refuse_field(param, unsupported ? "unsupported_schema" : invalid, error.what());
  }
}

GrammarSource root_of(GrammarSource source, grammar::ExprId root) {
  const grammar::RuleId rule = source.add_rule("root");
  source.define(rule, root);
  source.set_root(rule);
  return source;
}

GrammarSource write_shape(const OutputShape& shape, const GrammarVocabulary& vocabulary) {
  GrammarSource source;
  switch (shape.kind) {
    case OutputShape::Kind::kJsonObject:
      return grammar::json_object_grammar();
    case OutputShape::Kind::kJsonSchema:
      return grammar::json_schema_grammar(
          shape.schema,
          {.mode = shape.strict ? grammar::SchemaMode::kStrict : grammar::SchemaMode::kLenient});
    case OutputShape::Kind::kGbnf:
      return grammar::parse_gbnf(shape.text, vocabulary);
    case OutputShape::Kind::kLark:
      return grammar::parse_lark(shape.text, vocabulary);
    case OutputShape::Kind::kRegex: {
      const auto root = grammar::parse_whole_regex(source, shape.text, "regex", grammar::write_plain);
      return root_of(std::move(source), root);
    }
    default: {
      const auto root = source.literals(shape.choices);
      return root_of(std::move(source), root);
    }
  }
}

std::string shape_key(const OutputShape& shape) {
  return write_json({{"kind", static_cast<int>(shape.kind)},
                     {"schema", shape.schema},
                     {"text", shape.text},
                     {"choices", shape.choices},
                     {"strict", shape.strict}});
}

bool is_strict_tool(const Json& tool) { return tool["function"].value("strict", false); }

/// Calls may be left to the model: no tool insists on its schema, and many calls are as good as one.
bool leaves_calls_free(const ChatRequest& chat) {
  return chat.tool_choice.use == ToolChoice::Use::kAuto && chat.tool_choice.parallel &&
         !is_schema_shape(chat.shape) && std::ranges::none_of(chat.input.tools, is_strict_tool);
}

}  // namespace

engine::ConstraintFactory output_constraint(const ServedModel& served, const OutputShape& shape) {
  if (shape.is_free()) return {};
  const char* invalid = is_schema_shape(shape) ? "invalid_schema" : "invalid_grammar";
  return constraint_of(served, shape_key(shape), shape.param, invalid,
                       [&](const GrammarVocabulary& vocabulary) { return write_shape(shape, vocabulary); });
}

engine::ConstraintFactory output_constraint(const ServedModel& served, const ChatRequest& chat) {
  if (!chat.input.tools.is_array() || leaves_calls_free(chat)) return output_constraint(served, chat.shape);
  const text::Tokenizer& tokenizer = served.model->tokenizer();
  const auto format =
      text::detect_output_format([&](std::string_view name) { return tokenizer.token_id(name); });
  if (!format)
    refuse_field("tool_choice", "unsupported_value", "the model's vocabulary has no markup for calls");
  const bool required = chat.tool_choice.use == ToolChoice::Use::kRequired;
  grammar::ToolGrammarOptions options{
      .use = required ? grammar::ToolUse::kRequired : grammar::ToolUse::kAuto,
      .calls = chat.tool_choice.parallel ? grammar::ToolCalls::kMany : grammar::ToolCalls::kOne};
  const Json any_object{{"type", "object"}};
  if (!required && is_schema_shape(chat.shape))
    options.content_schema =
        chat.shape.kind == OutputShape::Kind::kJsonSchema ? &chat.shape.schema : &any_object;
  const std::string key = write_json({{"tools", chat.input.tools},
                                      {"required", required},
                                      {"parallel", chat.tool_choice.parallel},
                                      {"content", shape_key(chat.shape)}});
  return constraint_of(served, key, "tools", "invalid_schema", [&](const GrammarVocabulary& vocabulary) {
    return grammar::tool_call_grammar(*format, chat.input.tools, options, vocabulary);
  });
}

}  // namespace lanner::server
