// SPDX-License-Identifier: MIT
#include "text/grammar/tool_grammar.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "io/message_text.h"
#include "text/grammar/schema_compiler.h"
#include "text/qwen3_5_output.h"

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
  /// What the parser takes for the end of a value anywhere, and at the beginning of a line.
  static constexpr std::string_view kEnd = "</parameter>[ \\t\\r\\n]*(?:<parameter=|</function>)";
  static constexpr std::string_view kLineEnd = "<parameter=|</function>[ \\t\\r\\n]*<function=";

  ExprId parameters(const Tool& tool) {
    // Value rules refer to the options and the document until they are finished.
    const JsonSchemaOptions options =
        schema_options(tool, {.whitespace = JsonWhitespace::kFlexible, .barred = kEnd});
    const SchemaDocument document(*tool.parameters, options, warnings_, *source_.work());
    SchemaCompiler compiler(document, source_, options.spelling);
    const ValueSchema read_as(tool.parameters);
    std::vector<ExprId> ways;
    for (const SchemaFacts& facts : expand(document, {tool.parameters})) {
      if ((facts.types & kObject) == 0) continue;
      if (facts.values)
        document.fail(document.root(), "", "constants for all arguments together are not supported",
                      ErrorKind::kUnsupported);
      ways.push_back(counted(facts, members(document, compiler, facts, read_as),
                             extra(document, compiler, facts, read_as)));
    }
    compiler.finish();
    return source_.choice(std::move(ways));
  }

  struct Member {
    ExprId text = 0;
    bool required = false;
  };

  std::vector<Member> members(const SchemaDocument& document, SchemaCompiler& compiler,
                              const SchemaFacts& facts, const ValueSchema& read_as) {
    std::vector<Member> result;
    for (const SchemaCompiler::Property& property : compiler.properties(facts)) {
      if (!Qwen35Output::carries_key(property.name))
        document.fail(
            facts.objects.empty() ? document.root() : *facts.objects.front(), "properties",
            fmt::format("the name {} cannot be written in this model's calls", io::in_quotes(property.name)),
            ErrorKind::kUnsupported);
      const ExprId text = property.schemas ? value(document, compiler, *property.schemas,
                                                   read_as.property(property.name).types())
                                           : source_.nothing();
      result.push_back({parameter(source_.literal(property.name), text), property.required});
    }
    return result;
  }

  ExprId parameter(ExprId key, ExprId text) {
    return source_.sequence(
        {source_.literal("<parameter="), key, source_.literal(">\n"), text, source_.literal("\n")});
  }

  /// One parameter that no schema names.
  std::optional<ExprId> extra(const SchemaDocument& document, SchemaCompiler& compiler,
                              const SchemaFacts& facts, const ValueSchema& read_as) {
    const std::optional<Conjunction> schemas = compiler.additional(facts);
    if (!schemas) return std::nullopt;
    std::vector<ExprId> rules{parse_whole_regex(source_, "[A-Za-z0-9_.-]{1,64}", "parameter", write_plain)};
    std::vector<std::string> named;
    for (const SchemaCompiler::Property& property : compiler.properties(facts))
      named.push_back(property.name);
    if (!named.empty()) rules.push_back(source_.complement(source_.literals(std::move(named))));
    if (!facts.property_names.empty()) rules.push_back(plain_strings(document, facts.property_names));
    // No parameter that is named has a line for its name.
    const unsigned types = read_as.property("\n").types();
    return parameter(rules.size() == 1 ? rules.front() : source_.both(std::move(rules)),
                     value(document, compiler, *schemas, types));
  }

  /// The members in their order and more behind them, as many as the schema says.
  ExprId counted(const SchemaFacts& facts, const std::vector<Member>& members, std::optional<ExprId> extra) {
    const std::uint32_t min = facts.min_properties, max = facts.max_properties;
    if (min == 0 && max == kUnbounded) {
      std::vector<ExprId> parts;
      parts.reserve(members.size() + 1);
      for (const Member& member : members)
        parts.push_back(member.required ? member.text : source_.optional(member.text));
      if (extra) parts.push_back(source_.repeat(*extra, 0, kUnbounded));
      return source_.sequence(std::move(parts));
    }
    // Counts above the last that matters are alike.
    const std::uint32_t counts = 1 + std::min<std::uint32_t>(max == kUnbounded ? min : max,
                                                             static_cast<std::uint32_t>(members.size()));
    std::vector<ExprId> behind;
    for (std::uint32_t count = 0; count < counts; ++count) {
      const std::uint32_t more_min = min > count ? min - count : 0;
      const std::uint32_t more_max = max == kUnbounded ? kUnbounded : max - count;
      if (more_min > (extra ? more_max : 0))
        behind.push_back(source_.nothing());
      else
        behind.push_back(extra ? source_.repeat(*extra, more_min, more_max) : source_.empty());
    }
    for (std::size_t i = members.size(); i-- > 0;) {
      std::vector<ExprId> here;
      for (std::uint32_t count = 0; count < counts; ++count) {
        const bool full = max != kUnbounded && count >= max;
        std::vector<ExprId> ways;
        if (!full)
          ways.push_back(source_.sequence({members[i].text, behind[std::min(count + 1, counts - 1)]}));
        if (!members[i].required) ways.push_back(behind[count]);
        here.push_back(source_.add_and_reference("parameters", source_.choice(std::move(ways))));
      }
      behind = std::move(here);
    }
    return behind.front();
  }

  /// Text that keeps `rules` and that the parser reads up to the end of the value behind it.
  ExprId raw_text(std::vector<ExprId> rules) {
    rules.push_back(source_.repeat(source_.character(CodePointSet::all()), 0, kUnbounded));
    const ExprId any = source_.any_text();
    const ExprId line = source_.choice({source_.empty(), source_.sequence({any, source_.literal("\n")})});
    const ExprId ends = source_.choice(
        {source_.sequence({any, source_.literal(kValueEnd)}),
         source_.sequence({any, parse_whole_regex(source_, kEnd, "parameter", write_plain)}),
         source_.sequence({line, parse_whole_regex(source_, kLineEnd, "parameter", write_plain)})});
    rules.push_back(source_.complement(source_.sequence({ends, any})));
    return source_.add_and_reference(
        "text", source_.sequence({source_.both(std::move(rules)), source_.literal(kValueEnd)}));
  }

  /// Text that the parser reads as another value than a string, where the schema allows `types`.
  ExprId read_as_other(unsigned types) {
    constexpr unsigned kNumbers = ValueSchema::kInteger | ValueSchema::kNumber;
    constexpr unsigned kContainers = ValueSchema::kObject | ValueSchema::kArray;
    const auto regex = [&](std::string_view expression) {
      return parse_whole_regex(source_, expression, "parameter", write_plain);
    };
    std::vector<ExprId> ways;
    if (types == 0) ways.push_back(source_.literals({"null", "true", "false"}));
    if ((types & ValueSchema::kNull) != 0) ways.push_back(regex("[Nn][Uu][Ll][Ll]|None"));
    if ((types & ValueSchema::kBoolean) != 0) ways.push_back(regex("[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]"));
    if (types == 0 || (types & kNumbers) != 0)
      ways.push_back(regex("-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"));
    if (types == 0 || (types & kContainers) != 0)
      ways.push_back(source_.sequence({regex("[{\\[(]"), source_.any_text()}));
    const ExprId blanks = regex("[ \\t\\r\\n]*");
    return source_.sequence({blanks, source_.choice(std::move(ways)), blanks});
  }

  /// Strings are written as they are, other values as JSON. `types`: what the parser takes the value for.
  ExprId value(const SchemaDocument& document, SchemaCompiler& compiler, const Conjunction& schemas,
               unsigned types) {
    bool strings = false, others = false;
    for (const SchemaFacts& facts : expand(document, schemas)) {
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
    if (strings) {
      std::vector<ExprId> rules{plain_strings(document, schemas)};
      if ((types & ~unsigned{ValueSchema::kString}) != 0 || types == 0)
        rules.push_back(source_.complement(read_as_other(types)));
      ways.push_back(raw_text(std::move(rules)));
    }
    if (others && types != ValueSchema::kString) {
      Conjunction all = schemas;
      all.push_back(&types_but_strings(types));
      ways.push_back(source_.sequence({compiler.value(all, 1), source_.literal(kValueEnd)}));
    }
    return source_.choice(std::move(ways));
  }

  ExprId plain_strings(const SchemaDocument& document, const Conjunction& schemas) {
    // Plain spelling, as between Gemma's quotes; the marker itself is not written.
    SchemaCompiler plain(document, source_, {.whitespace = JsonWhitespace::kCompact, .quote_marker = begin_});
    return plain.string_body(schemas);
  }

  /// A schema of the types, or of all, but strings.
  static const OrderedJson& types_but_strings(unsigned types) {
    static const std::vector<OrderedJson> kSchemas = [] {
      constexpr std::pair<unsigned, const char*> kNames[] = {
          {ValueSchema::kInteger, "integer"}, {ValueSchema::kNumber, "number"},
          {ValueSchema::kBoolean, "boolean"}, {ValueSchema::kObject, "object"},
          {ValueSchema::kArray, "array"},     {ValueSchema::kNull, "null"}};
      std::vector<OrderedJson> result;
      for (unsigned set = 0; set < 128; ++set) {
        OrderedJson names = OrderedJson::array();
        for (const auto& [type, name] : kNames)
          if (set == 0 || (set & type) != 0) names.emplace_back(name);
        result.push_back({{"type", names}});
      }
      return result;
    }();
    return kSchemas[types];
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
