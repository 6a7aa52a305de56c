// SPDX-License-Identifier: MIT
#include "text/grammar/json_schema.h"

#include "text/grammar/schema_compiler.h"

namespace lanner::text::grammar {

ExprId json_schema_value(GrammarSource& source, const nlohmann::ordered_json& schema,
                         const JsonSchemaOptions& options, int depth, std::vector<std::string>* warnings) {
  const SchemaDocument document(schema, options, warnings, *source.work());
  SchemaCompiler compiler(document, source, options.spelling);
  const ExprId value = compiler.value({&schema}, depth);
  compiler.finish();
  return value;
}

GrammarSource json_schema_grammar(const nlohmann::ordered_json& schema, const JsonSchemaOptions& options,
                                  std::vector<std::string>* warnings) {
  GrammarSource source;
  const RuleId root = source.add_rule(options.name);
  source.define(root, json_schema_value(source, schema, options, 1, warnings));
  source.set_root(root);
  return source;
}

GrammarSource json_object_grammar(JsonWhitespace whitespace) {
  GrammarSource source;
  const RuleId root = source.add_rule("root");
  source.define(root, JsonText(source, {.whitespace = whitespace}).any_object(1));
  source.set_root(root);
  return source;
}

}  // namespace lanner::text::grammar
