// SPDX-License-Identifier: MIT
#include "text/grammar/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/message_text.h"
#include "text/gemma4_output_arguments.h"
#include "text/grammar/regex.h"
#include "text/unicode.h"

namespace lanner::text::grammar {

namespace {

/// Exponents below e+290 keep 17 digits within a double.
constexpr std::string_view kNumberPattern =
    "-?(?:0|[1-9][0-9]{0,16})(?:\\.[0-9]{1,16})?(?:[eE][+-]?(?:[01]?[0-9]{1,2}|2[0-8][0-9]))?";
constexpr std::string_view kIntegerPattern = "0|-?[1-9][0-9]{0,16}";
constexpr std::string_view kUnicodeEscape =
    "\\\\u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}"
    "|[Dd][89ABab][0-9A-Fa-f]{2}\\\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})";

CodePointSet must_be_escaped() {
  CodePointSet set = CodePointSet::of("\"\\");
  set.add(0, 0x1F);
  return set;
}

/// As in a JSON string.
ExprId write_escaped(GrammarSource& source, const CodePointSet& set) {
  std::vector<ExprId> ways{source.character(set.without(must_be_escaped()))};
  const CodePointSet escaped = set.intersection(must_be_escaped());
  for (const CodePointSet::Range& range : escaped.ranges())
    for (char32_t c = range.first; c <= range.last; ++c) {
      std::string text;
      append_utf8(text, c);
      ways.push_back(source.literal(printed_string(text)));
    }
  return source.choice(std::move(ways));
}

}  // namespace

std::string printed_string(std::string_view text) {
  std::string quoted = nlohmann::json(text).dump();
  return quoted.substr(1, quoted.size() - 2);
}

int JsonText::depth_class(int depth) const {
  return spelling_.whitespace == JsonWhitespace::kCompact ? 0 : std::min(depth, kMaxIndentDepth);
}

template <typename Body>
ExprId JsonText::shared(Part part, int depth, const char* name, const Body& body) {
  const auto [known, added] = rules_.try_emplace({part, depth});
  if (!added) return source_.rule(known->second);
  const RuleId rule = source_.add_rule(name);
  known->second = rule;
  source_.define(rule, body());
  return source_.rule(rule);
}

ExprId JsonText::space(int depth) {
  if (spelling_.whitespace == JsonWhitespace::kCompact) return source_.empty();
  return shared(Part::kSpace, depth_class(depth), "white space", [&] {
    const auto spaces = static_cast<std::uint32_t>(4 * depth_class(depth));
    return source_.choice(
        {source_.empty(), source_.literal(" "),
         source_.sequence({source_.literal("\n"), source_.repeat(source_.literal(" "), 0, spaces)})});
  });
}

ExprId JsonText::any_character() {
  return shared(Part::kCharacter, 0, "character", [&] {
    if (spelling_.quote_marker) return source_.character(CodePointSet::all());
    const ExprId simple =
        source_.sequence({source_.literal("\\"), source_.character(CodePointSet::of("\"\\/bfnrt"))});
    return source_.choice({source_.character(must_be_escaped().complement()), simple,
                           parse_whole_regex(source_, kUnicodeEscape, "escape", write_plain)});
  });
}

WriteCharacter JsonText::printed_character() const {
  return spelling_.quote_marker ? WriteCharacter(write_plain) : WriteCharacter(write_escaped);
}

ExprId JsonText::quoted(ExprId body) {
  const ExprId quote =
      spelling_.quote_marker ? source_.marker(*spelling_.quote_marker) : source_.literal("\"");
  return source_.sequence({quote, unbarred(body), quote});
}

ExprId JsonText::unbarred(ExprId texts) {
  const Expr& expr = source_.expr(texts);
  const bool harmless = expr.kind == Expr::Kind::kLiteral && expr.literal.find('<') == std::string::npos;
  if (spelling_.barred.empty() || harmless || expr.kind == Expr::Kind::kEmpty) return texts;
  if (!harmless_) {
    const ExprId barred = parse_whole_regex(source_, spelling_.barred, "string", write_plain);
    harmless_ = source_.complement(source_.sequence({source_.any_text(), barred, source_.any_text()}));
  }
  return source_.both({texts, *harmless_});
}

std::string JsonText::printed(std::string_view name) const {
  return spelling_.quote_marker ? std::string(name) : printed_string(name);
}

ExprId JsonText::key(std::string_view name) {
  if (spelling_.quote_marker && !Gemma4Arguments::carries_key(name))
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the name {} cannot be written in this model's calls", io::in_quotes(name)));
  return key_of(source_.literal(printed(name)));
}

ExprId JsonText::key_of(ExprId body) { return spelling_.quote_marker ? body : quoted(body); }

ExprId JsonText::any_key() {
  if (!spelling_.quote_marker) return any_string();
  return shared(Part::kKey, 0, "key",
                [&] { return parse_whole_regex(source_, "[A-Za-z0-9_.-]{1,64}", "key", write_plain); });
}

ExprId JsonText::any_key_body() {
  if (spelling_.quote_marker) return any_key();
  return source_.repeat(write_escaped(source_, CodePointSet::all()), 0, kUnbounded);
}

ExprId JsonText::constant(const nlohmann::ordered_json& value, int depth) {
  if (value.is_string()) return quoted(source_.literal(printed(value.get_ref<const std::string&>())));
  if (value.is_primitive()) return source_.literal(value.dump());
  const bool array = value.is_array();
  std::vector<ExprId> parts;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (it != value.begin()) parts.push_back(comma(depth));
    if (!array) parts.insert(parts.end(), {key(it.key()), colon(depth)});
    parts.push_back(constant(it.value(), depth + 1));
  }
  const std::optional<ExprId> inner =
      value.empty() ? std::nullopt : std::optional(source_.sequence(std::move(parts)));
  return enclosed(array ? "[" : "{", inner, array ? "]" : "}", depth);
}

ExprId JsonText::any_string() {
  return shared(Part::kString, 0, "string",
                [&] { return quoted(source_.repeat(any_character(), 0, kUnbounded)); });
}

ExprId JsonText::any_number() {
  return shared(Part::kNumber, 0, "number",
                [&] { return parse_whole_regex(source_, kNumberPattern, "number", write_plain); });
}

ExprId JsonText::any_integer() {
  return shared(Part::kInteger, 0, "integer",
                [&] { return parse_whole_regex(source_, kIntegerPattern, "integer", write_plain); });
}

ExprId JsonText::enclosed(std::string_view open, std::optional<ExprId> inner, std::string_view close,
                          int depth) {
  if (!inner) return source_.sequence({source_.literal(open), space(depth), source_.literal(close)});
  return source_.sequence(
      {source_.literal(open), space(depth), *inner, space(depth), source_.literal(close)});
}

ExprId JsonText::any_object(int depth) {
  depth = depth_class(depth);
  return shared(Part::kObject, depth, "object", [&] {
    const ExprId member = source_.sequence({any_key(), colon(depth), any_value(depth + 1)});
    const ExprId more = source_.repeat(source_.sequence({comma(depth), member}), 0, kUnbounded);
    return source_.choice({enclosed("{", std::nullopt, "}", depth),
                           enclosed("{", source_.sequence({member, more}), "}", depth)});
  });
}

ExprId JsonText::any_array(int depth) {
  depth = depth_class(depth);
  return shared(Part::kArray, depth, "array", [&] {
    const ExprId more = source_.repeat(source_.sequence({comma(depth), any_value(depth + 1)}), 0, kUnbounded);
    return source_.choice({enclosed("[", std::nullopt, "]", depth),
                           enclosed("[", source_.sequence({any_value(depth + 1), more}), "]", depth)});
  });
}

ExprId JsonText::any_value(int depth) {
  depth = depth_class(depth);
  return shared(Part::kValue, depth, "value", [&] {
    return source_.choice({any_object(depth), any_array(depth), any_string(), any_number(),
                           source_.literals({"true", "false", "null"})});
  });
}

}  // namespace lanner::text::grammar
