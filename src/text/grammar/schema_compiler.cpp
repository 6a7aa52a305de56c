// SPDX-License-Identifier: MIT
#include "text/grammar/schema_compiler.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/grammar/json_formats.h"
#include "text/grammar/regex.h"

namespace lanner::text::grammar {

namespace {

constexpr std::size_t kMaxPrefixItems = 1000;

}  // namespace

std::shared_ptr<const Grammar> text_grammar(GrammarSource source, ExprId root) {
  static const auto kNoTokens = std::make_shared<GrammarVocabulary>(
      0, std::vector<TokenBytes>{}, std::vector<GrammarVocabulary::Marker>{}, std::vector<TokenId>{});
  const RuleId rule = source.add_rule("root");
  source.define(rule, root);
  source.set_root(rule);
  source.work()->take(64 * kPartWork);  // Its tables alone take some time.
  try {
    return std::make_shared<Grammar>(std::move(source), kNoTokens);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInvalidArgument) return nullptr;
    throw;
  }
}

ExprId SchemaCompiler::value(const Conjunction& conjunction, int depth) {
  depth = text_.depth_class(depth);
  document_.work().take(kPartWork + conjunction.size());
  const auto [known, added] = rules_.try_emplace({conjunction, depth});
  if (!added) return source_.rule(known->second);
  const RuleId rule = source_.add_rule("value");
  known->second = rule;
  open_.push_back({rule, conjunction, depth});
  return source_.rule(rule);
}

void SchemaCompiler::finish() {
  while (!open_.empty()) {
    const Open it = std::move(open_.back());
    open_.pop_back();
    std::vector<ExprId> ways;
    for (const SchemaFacts& facts : expand(document_, it.conjunction))
      ways.push_back(alternative(facts, it.depth));
    source_.define(it.rule, source_.choice(std::move(ways)));
  }
}

ExprId SchemaCompiler::alternative(const SchemaFacts& facts, int depth) {
  if (facts.values) return constants(facts, depth);
  if (facts.types == kAnyType && facts.only_types()) return text_.any_value(depth);
  std::vector<ExprId> ways;
  if ((facts.types & kObject) != 0) ways.push_back(object(facts, depth));
  if ((facts.types & kArray) != 0) ways.push_back(array(facts, depth));
  if ((facts.types & kString) != 0) ways.push_back(string_text(facts));
  if ((facts.types & kInteger) != 0) ways.push_back(number(facts));
  if ((facts.types & kBoolean) != 0) ways.push_back(source_.literals({"true", "false"}));
  if ((facts.types & kNull) != 0) ways.push_back(source_.literal("null"));
  return source_.choice(std::move(ways));
}

/// The values that satisfy everything else too.
ExprId SchemaCompiler::constants(const SchemaFacts& facts, int depth) {
  std::vector<ExprId> ways;
  std::vector<std::string> texts;
  SchemaFacts others = facts;
  others.values.reset();
  std::shared_ptr<const Grammar> rest;
  if (!others.only_types()) {
    GrammarSource source(source_.work());
    SchemaCompiler compiler(document_, source, {.whitespace = JsonWhitespace::kCompact});
    const ExprId root = compiler.alternative(others, 0);
    compiler.finish();
    rest = text_grammar(std::move(source), root);
    if (rest == nullptr) return source_.nothing();
  }
  for (const OrderedJson* value : *facts.values) {
    const unsigned type = type_bits_of(*value);
    const std::string text = value->dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    document_.work().take(kPartWork + text.size());
    if ((facts.types & type) == 0 || (rest != nullptr && !rest->accepts(text, document_.work()))) continue;
    if (text_.spelling().quote_marker || value->is_structured())
      ways.push_back(text_.constant(*value, depth));
    else
      texts.push_back(text);
  }
  if (!texts.empty()) ways.push_back(text_.unbarred(source_.literals(std::move(texts))));
  return source_.choice(std::move(ways));
}

ExprId SchemaCompiler::number(const SchemaFacts& facts) {
  const bool fractions = (facts.types & kNumber) != 0;
  if (facts.numbers.empty()) return fractions ? text_.any_number() : text_.any_integer();
  return source_.add_and_reference(
      "number", fractions ? numbers(source_, facts.numbers) : integers(source_, facts.numbers));
}

ExprId SchemaCompiler::pattern(const OrderedJson& schema, std::string_view keyword,
                               const std::string& expression) {
  return parse_search_regex(source_, expression, document_.place(schema, keyword), text_.printed_character());
}

ExprId SchemaCompiler::string_text(const SchemaFacts& facts) {
  std::vector<ExprId> rules;
  for (const OrderedJson* schema : facts.patterns)
    rules.push_back(pattern(*schema, "pattern", *document_.find_string(*schema, "pattern")));
  for (const OrderedJson* schema : facts.formats) {
    const std::string& format = *document_.find_string(*schema, "format");
    if (const auto expression = format_expression(format))
      rules.push_back(parse_whole_regex(source_, *expression, format, text_.printed_character()));
    else
      document_.not_enforced(*schema, "format", fmt::format("format \"{}\" is not enforced", format));
  }
  if (facts.max_length < facts.min_length) return source_.nothing();
  const bool any_length = facts.min_length == 0 && facts.max_length == kUnbounded;
  if (rules.empty() && any_length) return text_.any_string();
  if (rules.empty() || !any_length)
    rules.push_back(source_.repeat(text_.any_character(), facts.min_length, facts.max_length));
  const ExprId body = rules.size() == 1 ? rules.front() : source_.both(std::move(rules));
  return source_.add_and_reference("string", text_.quoted(body));
}

ExprId SchemaCompiler::string_body(const Conjunction& conjunction) {
  std::vector<ExprId> ways;
  for (const SchemaFacts& facts : expand(document_, conjunction)) {
    if ((facts.types & kString) == 0) continue;
    if (facts.values) {
      std::vector<std::string> texts;
      for (const OrderedJson* value : *facts.values)
        if (value->is_string()) texts.push_back(text_.printed(value->get_ref<const std::string&>()));
      ways.push_back(source_.literals(std::move(texts)));
      continue;
    }
    std::vector<ExprId> rules{source_.repeat(text_.printed_character()(source_, CodePointSet::all()),
                                             facts.min_length, facts.max_length)};
    for (const OrderedJson* schema : facts.patterns)
      rules.push_back(pattern(*schema, "pattern", *document_.find_string(*schema, "pattern")));
    for (const OrderedJson* schema : facts.formats)
      if (const auto expression = format_expression(*document_.find_string(*schema, "format")))
        rules.push_back(parse_whole_regex(source_, *expression, "format", text_.printed_character()));
    ways.push_back(source_.both(std::move(rules)));
  }
  return source_.choice(std::move(ways));
}

Conjunction SchemaCompiler::item_schemas(const SchemaFacts& facts, std::size_t index) const {
  Conjunction result;
  for (const OrderedJson* schema : facts.arrays) {
    document_.work().take(schema->size() + result.size());
    const OrderedJson* items = document_.find(*schema, "items");
    const OrderedJson* prefix = document_.find_array(*schema, "prefixItems");
    const OrderedJson* rest = items;
    if (items != nullptr && items->is_array()) {  // Before draft 2020-12.
      prefix = items;
      rest = document_.find(*schema, "additionalItems");
    }
    const OrderedJson* one = prefix != nullptr && index < prefix->size() ? &(*prefix)[index] : rest;
    if (one != nullptr && std::ranges::find(result, one) == result.end()) result.push_back(one);
  }
  return result;
}

/// ", item" as often as may be behind `prefix` items, one of which is there.
ExprId SchemaCompiler::items_after(const SchemaFacts& facts, std::size_t prefix, int depth) {
  const auto already = static_cast<std::uint32_t>(prefix);
  const std::uint32_t min = facts.min_items > already ? facts.min_items - already : 0;
  const std::uint32_t max = facts.max_items == kUnbounded ? kUnbounded
                            : facts.max_items > already   ? facts.max_items - already
                                                          : 0;
  if (max == 0) return source_.empty();
  const ExprId item = value(item_schemas(facts, kMaxPrefixItems), depth + 1);
  return source_.repeat(source_.sequence({text_.comma(depth), item}), min, max);
}

ExprId SchemaCompiler::array(const SchemaFacts& facts, int depth) {
  std::size_t prefix = 0;
  for (const OrderedJson* schema : facts.arrays)
    for (const char* keyword : {"prefixItems", "items"})
      if (const OrderedJson* items = document_.find(*schema, keyword); items != nullptr && items->is_array())
        prefix = std::max(prefix, items->size());
  if (prefix > kMaxPrefixItems)
    document_.fail(*facts.arrays.front(), "prefixItems", fmt::format("more than {} items", kMaxPrefixItems),
                   ErrorKind::kUnsupported);
  if (facts.max_items < facts.min_items) return source_.nothing();
  if (facts.arrays.empty() && facts.min_items == 0 && facts.max_items == kUnbounded)
    return text_.any_array(depth);
  std::vector<ExprId> ways;
  if (facts.min_items == 0) ways.push_back(text_.enclosed("[", std::nullopt, "]", depth));
  if (facts.max_items > 0) {
    const std::size_t given = std::min<std::size_t>(std::max<std::size_t>(prefix, 1), facts.max_items);
    ExprId tail = items_after(facts, given, depth);
    for (std::size_t i = given; i-- > 0;) {
      const ExprId item = value(item_schemas(facts, i), depth + 1);
      tail = i == 0 ? source_.sequence({item, tail}) : source_.sequence({text_.comma(depth), item, tail});
      if (i > 0 && i >= facts.min_items) tail = source_.optional(tail);
      if (i > 0 && i % 32 == 0) tail = source_.add_and_reference("items", tail);  // Keeps nesting shallow.
    }
    ways.push_back(text_.enclosed("[", tail, "]", depth));
  }
  return source_.choice(std::move(ways));
}

}  // namespace lanner::text::grammar
