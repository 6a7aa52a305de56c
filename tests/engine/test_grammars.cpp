// SPDX-License-Identifier: MIT
#include "engine/test_grammars.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"

namespace lanner::test {
namespace {

namespace grammar = text::grammar;
using grammar::GrammarSource;

GrammarSource of_root(GrammarSource source, grammar::ExprId body) {
  const grammar::RuleId root = source.add_rule("root");
  source.define(root, body);
  source.set_root(root);
  return source;
}

GrammarSource expression(const char* text) {
  GrammarSource source;
  const grammar::ExprId body = grammar::parse_whole_regex(source, text, "expression", grammar::write_plain);
  return of_root(std::move(source), body);
}

GrammarSource choice(std::vector<std::string> texts) {
  GrammarSource source;
  const grammar::ExprId body = source.literals(std::move(texts));
  return of_root(std::move(source), body);
}

constexpr const char* kTreeSchema = R"({
  "$defs": {"tree": {"type": "object", "additionalProperties": false, "required": ["name"],
    "properties": {"name": {"type": "string", "maxLength": 8},
                   "age": {"type": "integer", "minimum": 0, "maximum": 150},
                   "kind": {"enum": ["fox", "hen", null]},
                   "children": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/tree"}}}}},
  "$ref": "#/$defs/tree"})";

/// Bytes that no token spells take the places of the last longer texts.
void spell_all_bytes(std::vector<grammar::TokenBytes>& texts) {
  auto place = texts.rbegin();
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    if (std::ranges::find(texts, text, &grammar::TokenBytes::bytes) != texts.end()) continue;
    place = std::find_if(place, texts.rend(), [](const auto& token) { return token.bytes.size() > 1; });
    place->bytes = text;
  }
}

}  // namespace

std::shared_ptr<const grammar::GrammarVocabulary> grammar_vocabulary(const engine::LoadedModel& model,
                                                                     std::size_t vocabulary) {
  const text::Tokenizer& tokenizer = model.tokenizer();
  const auto exists = [&](TokenId id) { return static_cast<std::size_t>(id) < vocabulary; };
  std::vector<bool> marks(vocabulary);
  std::vector<grammar::GrammarVocabulary::Marker> markers;
  for (const text::AddedToken& token : tokenizer.added_tokens()) {
    if (!token.is_marker() || !exists(token.id)) continue;
    marks[static_cast<std::size_t>(token.id)] = true;
    markers.push_back({token.id, token.content});
  }
  std::vector<grammar::TokenBytes> texts;
  for (TokenId id = 0; exists(id); ++id)
    if (tokenizer.contains(id) && !marks[static_cast<std::size_t>(id)] && !tokenizer.token_bytes(id).empty())
      texts.push_back({id, tokenizer.token_bytes(id)});
  spell_all_bytes(texts);
  std::vector<TokenId> stops = model.defaults().stop_ids;
  std::erase_if(stops, [&](TokenId id) { return !exists(id); });
  return std::make_shared<grammar::GrammarVocabulary>(vocabulary, std::move(texts), std::move(markers),
                                                      std::move(stops));
}

std::vector<std::shared_ptr<const grammar::Grammar>> test_grammars(
    const std::shared_ptr<const grammar::GrammarVocabulary>& vocabulary) {
  std::vector<std::shared_ptr<const grammar::Grammar>> all;
  const auto add = [&](GrammarSource source) {
    all.push_back(std::make_shared<grammar::Grammar>(std::move(source), vocabulary));
  };
  add(grammar::json_object_grammar());
  add(grammar::json_schema_grammar(nlohmann::ordered_json::parse(kTreeSchema)));
  add(expression("[A-Z][a-z]{2,9}( [a-z]{1,9}){0,6}\\."));
  add(choice({"yes", "no", "not yet", "n\xC3\xA9"}));
  add(grammar::parse_gbnf("root ::= \"(\" root* \")\" | [0-9]+ \",\"", *vocabulary));
  return all;
}

}  // namespace lanner::test
