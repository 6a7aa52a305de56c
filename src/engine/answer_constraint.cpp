// SPDX-License-Identifier: MIT
#include "engine/answer_constraint.h"

#include <algorithm>

#include "core/error.h"
#include "engine/grammar_constraint.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/lark.h"
#include "text/grammar/regex.h"

namespace lanner::engine {
namespace {

namespace grammar = text::grammar;
using grammar::GrammarSource;
using grammar::GrammarVocabulary;
using Json = nlohmann::ordered_json;

/// Makes a matcher of the grammar for every choice.
ConstraintFactory constraint_of(const std::shared_ptr<const LoadedModel>& model, GrammarCache& grammars,
                                const Json& key, const GrammarCache::Write& write) {
  return [compiled = grammars.find(key.dump(-1, ' ', false, Json::error_handler_t::replace), write), model] {
    return std::make_unique<GrammarConstraint>(compiled, model->tokenizer());
  };
}

GrammarSource root_of(GrammarSource source, grammar::ExprId root) {
  const grammar::RuleId rule = source.add_rule("root");
  source.define(rule, root);
  source.set_root(rule);
  return source;
}

GrammarSource write_shape(const AnswerShape& shape, const GrammarVocabulary& vocabulary) {
  using Kind = AnswerShape::Kind;
  GrammarSource source;
  switch (shape.kind) {
    case Kind::kJsonObject:
      return grammar::json_object_grammar();
    case Kind::kJsonSchema:
      return grammar::json_schema_grammar(
          shape.schema,
          {.mode = shape.strict ? grammar::SchemaMode::kStrict : grammar::SchemaMode::kLenient});
    case Kind::kGbnf:
      return grammar::parse_gbnf(shape.text, vocabulary);
    case Kind::kLark:
      return grammar::parse_lark(shape.text, vocabulary);
    case Kind::kRegex: {
      const auto root = grammar::parse_whole_regex(source, shape.text, "regex", grammar::write_plain);
      return root_of(std::move(source), root);
    }
    default: {
      const auto root = source.literals(shape.choices);
      return root_of(std::move(source), root);
    }
  }
}

Json shape_key(const AnswerShape& shape) {
  return {{"kind", static_cast<int>(shape.kind)},
          {"schema", shape.schema},
          {"text", shape.text},
          {"choices", shape.choices},
          {"strict", shape.strict}};
}

bool is_strict_tool(const Json& tool) {
  return tool.contains("function") && tool["function"].value("strict", false);
}

}  // namespace

ConstraintFactory shape_constraint(const AnswerShape& shape, const std::shared_ptr<const LoadedModel>& model,
                                   GrammarCache& grammars) {
  if (shape.is_free()) return {};
  return constraint_of(model, grammars, shape_key(shape),
                       [&](const GrammarVocabulary& vocabulary) { return write_shape(shape, vocabulary); });
}

bool binds_calls(const CallableTools& tools, const AnswerShape& shape) {
  if (!tools.tools.is_array()) return false;
  return tools.use == grammar::ToolUse::kRequired || tools.calls == grammar::ToolCalls::kOne ||
         shape.is_json() || std::ranges::any_of(tools.tools, is_strict_tool);
}

ConstraintFactory tool_constraint(const CallableTools& tools, const AnswerShape& shape,
                                  const std::shared_ptr<const LoadedModel>& model, GrammarCache& grammars) {
  const text::Tokenizer& tokenizer = model->tokenizer();
  const auto format =
      text::detect_output_format([&](std::string_view name) { return tokenizer.token_id(name); });
  if (!format)
    throw Error(ErrorKind::kUnsupported, "the model's vocabulary has no markup for calls of tools");
  const bool required = tools.use == grammar::ToolUse::kRequired;
  grammar::ToolGrammarOptions options{.use = tools.use, .calls = tools.calls};
  const Json any_object{{"type", "object"}};
  if (!required && shape.is_json())
    options.content_schema = shape.kind == AnswerShape::Kind::kJsonSchema ? &shape.schema : &any_object;
  const Json key{{"tools", tools.tools},
                 {"required", required},
                 {"calls", static_cast<int>(tools.calls)},
                 {"content", shape_key(shape)}};
  return constraint_of(model, grammars, key, [&](const GrammarVocabulary& vocabulary) {
    return grammar::tool_call_grammar(*format, tools.tools, options, vocabulary);
  });
}

}  // namespace lanner::engine
