// SPDX-License-Identifier: MIT
#include "text/grammar/tool_grammar.h"

#include <fmt/format.h>

#include "core/error.h"
#include "text/grammar/schema_compiler.h"

namespace lanner::text::grammar {

namespace {

const OrderedJson kNoParameters = OrderedJson::parse(R"({"type":"object"})");

TokenId need_marker(const GrammarVocabulary& vocabulary, std::string_view name) {
  const std::optional<TokenId> id = vocabulary.marker(name);
  if (!id)
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the model has no marker token \"{}\" for tool calls", name));
  return *id;
}

/// Any tokens but the markers `but` and stop tokens.
ExprId free_text(GrammarSource& source, std::vector<TokenId> but) {
  const ExprId text = source.repeat(source.byte_set(ByteSet::all()), 1, kUnbounded);
  return source.repeat(source.choice({text, source.other_markers(std::move(but))}), 0, kUnbounded);
}

struct Tool {
  std::string name;
  const OrderedJson* parameters = &kNoParameters;
  std::string place;
};

std::vector<Tool> read_tools(const OrderedJson& tools, const ToolGrammarOptions& options) {
  const auto fail = [](const std::string& complaint) { throw Error(ErrorKind::kInvalidArgument, complaint); };
  if (!tools.is_array() || tools.empty()) fail("tools is no array with at least one tool");
  std::vector<Tool> result;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const OrderedJson* function = &tools[i];
    if (function->is_object() && function->contains("function")) function = &(*function)["function"];
    if (!function->is_object() || !function->contains("name") || !(*function)["name"].is_string())
      fail(fmt::format("tools[{}] has no function.name", i));
    Tool tool{.name = (*function)["name"].get<std::string>(),
              .place = fmt::format("tools[{}].function.parameters", i)};
    if (tool.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") !=
            std::string::npos ||
        tool.name.empty())
      fail(fmt::format("tools[{}].function.name is \"{}\", expected letters, digits, \"_\", \".\" and \"-\"",
                       i, tool.name));
    if (const auto it = function->find("parameters"); it != function->end() && !it->is_null())
      tool.parameters = &*it;
    if (options.arguments == ToolArguments::kAny) tool.parameters = &kNoParameters;
    if (!options.only || *options.only == tool.name) result.push_back(std::move(tool));
  }
  if (result.empty()) fail(fmt::format("no tool has the name \"{}\"", *options.only));
  return result;
}

JsonSchemaOptions schema_options(const Tool& tool, JsonSpelling spelling) {
  return {.spelling = spelling, .open_objects = OpenObjects::kForbidden, .name = tool.place};
}

/// `<|tool_call>call:NAME{key:value,…}<tool_call|>`
class GemmaCalls {
 public:
  GemmaCalls(GrammarSource& source, const GrammarVocabulary& vocabulary, std::vector<std::string>* warnings)
      : source_(source),
        warnings_(warnings),
        begin_(need_marker(vocabulary, "<|tool_call>")),
        end_(need_marker(vocabulary, "<tool_call|>")),
        quote_(need_marker(vocabulary, "<|\"|>")) {}

  TokenId begin() const { return begin_; }
  ExprId separator() { return source_.empty(); }
  ExprId call(const std::vector<Tool>& tools) {
    std::vector<ExprId> ways;
    for (const Tool& tool : tools) {
      const JsonSchemaOptions options =
          schema_options(tool, {.whitespace = JsonWhitespace::kCompact, .quote_marker = quote_});
      const SchemaDocument document(*tool.parameters, options, warnings_, *source_.work());
      SchemaCompiler compiler(document, source_, options.spelling);
      const ExprId arguments = compiler.value({tool.parameters, &kNoParameters}, 1);
      compiler.finish();
      ways.push_back(source_.sequence({source_.literal("call:" + tool.name), arguments}));
    }
    return source_.sequence({source_.marker(begin_), source_.choice(std::move(ways)), source_.marker(end_)});
  }

 private:
  GrammarSource& source_;
  std::vector<std::string>* warnings_;
  TokenId begin_, end_, quote_;
};

/// `<tool_call>\n<function=NAME>\n(<parameter=KEY>\nVALUE\n</parameter>\n)*</function>\n</tool_call>`
class QwenCalls {
 public:
  QwenCalls(GrammarSource& source, const GrammarVocabulary& vocabulary, std::vector<std::string>* warnings)
      : source_(source),
        warnings_(warnings),
        begin_(need_marker(vocabulary, "<tool_call>")),
        end_(need_marker(vocabulary, "</tool_call>")) {}

  TokenId begin() const { return begin_; }
  ExprId separator() { return source_.literal("\n"); }
  ExprId call(const std::vector<Tool>& tools) {
    std::vector<ExprId> ways;
    ways.reserve(tools.size());
    for (const Tool& tool : tools)
      ways.push_back(source_.sequence({source_.literal(tool.name + ">\n"), parameters(tool)}));
    return source_.sequence({source_.marker(begin_), source_.literal("\n<function="),
                             source_.choice(std::move(ways)), source_.literal("</function>\n"),
                             source_.marker(end_)});
  }

 private:
  static constexpr std::string_view kValueEnd = "\n</parameter>";

  ExprId parameters(const Tool& tool) {
    // Value rules refer to the options and the document until they are finished.
    const JsonSchemaOptions options = schema_options(tool, {.whitespace = JsonWhitespace::kFlexible});
    const SchemaDocument document(*tool.parameters, options, warnings_, *source_.work());
    SchemaCompiler compiler(document, source_, options.spelling);
    std::vector<ExprId> ways;
    for (const SchemaFacts& facts : expand(document, {tool.parameters})) {
      if ((facts.types & kObject) == 0) continue;
      std::vector<ExprId> parts;
      const std::vector<SchemaCompiler::Property> properties = compiler.properties(facts);
      for (const SchemaCompiler::Property& property : properties) {
        const ExprId one = source_.sequence({source_.literal("<parameter=" + property.name + ">\n"),
                                             value(document, compiler, property), source_.literal("\n")});
        parts.push_back(property.required ? one : source_.optional(one));
      }
      if (properties.empty() && !facts.closed) parts.push_back(any_parameters());
      ways.push_back(source_.sequence(std::move(parts)));
    }
    compiler.finish();
    return source_.choice(std::move(ways));
  }

  ExprId any_parameters() {
    const ExprId key = parse_whole_regex(source_, "[A-Za-z0-9_.-]{1,64}", "parameter", write_plain);
    const ExprId one = source_.sequence(
        {source_.literal("<parameter="), key, source_.literal(">\n"), raw_text({}), source_.literal("\n")});
    return source_.repeat(one, 0, kUnbounded);
  }

  /// Text that keeps `rules` and the end of the value behind it.
  ExprId raw_text(std::vector<ExprId> rules) {
    const ExprId any = source_.repeat(source_.character(CodePointSet::all()), 0, kUnbounded);
    rules.push_back(any);
    rules.push_back(source_.complement(
        source_.sequence({source_.any_text(), source_.literal(kValueEnd), source_.any_text()})));
    return source_.add_and_reference(
        "text", source_.sequence({source_.both(std::move(rules)), source_.literal(kValueEnd)}));
  }

  /// Strings are written as they are, other values as JSON.
  ExprId value(const SchemaDocument& document, SchemaCompiler& compiler,
               const SchemaCompiler::Property& property) {
    if (!property.schemas) return source_.nothing();
    bool strings = false, others = false;
    for (const SchemaFacts& facts : expand(document, *property.schemas)) {
      const bool any = facts.types == kAnyType && !facts.values && facts.only_types();
      if (any) return raw_text({});
      if (facts.values) {
        for (const OrderedJson* one : *facts.values) (one->is_string() ? strings : others) = true;
      } else {
        strings = strings || (facts.types & kString) != 0;
        others = others || (facts.types & ~unsigned{kString}) != 0;
      }
    }
    std::vector<ExprId> ways;
    if (strings) ways.push_back(raw_text({plain_strings(document, *property.schemas)}));
    if (others)
      ways.push_back(source_.sequence(
          {compiler.value(without_strings(*property.schemas), 1), source_.literal(kValueEnd)}));
    return source_.choice(std::move(ways));
  }

  ExprId plain_strings(const SchemaDocument& document, const Conjunction& schemas) {
    // Plain spelling, as between Gemma's quotes; the marker itself is not written.
    SchemaCompiler plain(document, source_, {.whitespace = JsonWhitespace::kCompact, .quote_marker = begin_});
    return plain.string_body(schemas);
  }

  static Conjunction without_strings(Conjunction schemas) {
    static const OrderedJson kNoString =
        OrderedJson::parse(R"({"type":["null","boolean","number","array","object"]})");
    schemas.push_back(&kNoString);
    return schemas;
  }

  GrammarSource& source_;
  std::vector<std::string>* warnings_;
  TokenId begin_, end_;
};

template <typename Calls>
GrammarSource write_answers(const OrderedJson& tools, const ToolGrammarOptions& options,
                            const GrammarVocabulary& vocabulary, std::vector<std::string>* warnings) {
  GrammarSource source;
  Calls family(source, vocabulary, warnings);
  const ExprId call = source.add_and_reference("call", family.call(read_tools(tools, options)));
  std::vector<ExprId> calls{call};
  if (options.calls == ToolCalls::kMany)
    calls.push_back(source.repeat(source.sequence({family.separator(), call}), 0, kUnbounded));
  ExprId answer = source.sequence(std::move(calls));
  if (options.use == ToolUse::kAuto && options.content_schema != nullptr)
    answer = source.choice({answer, json_schema_value(source, *options.content_schema, {}, 1, warnings)});
  else if (options.use == ToolUse::kAuto)
    answer = source.sequence({free_text(source, {family.begin()}), source.optional(answer)});
  const RuleId root = source.add_rule("root");
  source.define(root, answer);
  source.set_root(root);
  return source;
}

}  // namespace

GrammarSource tool_call_grammar(OutputFormat format, const nlohmann::ordered_json& tools,
                                const ToolGrammarOptions& options, const GrammarVocabulary& vocabulary,
                                std::vector<std::string>* warnings) {
  return format == OutputFormat::kGemma4 ? write_answers<GemmaCalls>(tools, options, vocabulary, warnings)
                                         : write_answers<QwenCalls>(tools, options, vocabulary, warnings);
}

}  // namespace lanner::text::grammar
