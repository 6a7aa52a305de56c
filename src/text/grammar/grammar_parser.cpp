// SPDX-License-Identifier: MIT
#include "text/grammar/grammar_parser.h"

#include <fmt/format.h>

#include <optional>

namespace lanner::text::grammar {

std::string GrammarParser::take_name(bool (*is_name)(char)) {
  const std::size_t begin = cursor_.position();
  while (is_name(cursor_.peek())) cursor_.skip(1);
  if (cursor_.position() == begin) cursor_.fail("expected a name");
  return std::string(cursor_.since(begin));
}

RuleId GrammarParser::rule(const std::string& name, std::size_t position) {
  const auto [known, added] = rules_.try_emplace(name);
  if (added) known->second = {source_.add_rule(name), position};
  return known->second.id;
}

RuleId GrammarParser::new_definition(const std::string& name, std::size_t position) {
  const RuleId id = rule(name, position);
  if (source_.is_defined(id)) cursor_.fail_at(position, fmt::format("\"{}\" is defined twice", name));
  return id;
}

RuleId GrammarParser::defined_rule(const std::string& name) const {
  for (const auto& [used, use] : rules_)
    if (!source_.is_defined(use.id))
      cursor_.fail_at(use.position, fmt::format("\"{}\" is not defined", used));
  const auto found = rules_.find(name);
  if (found == rules_.end()) cursor_.fail(fmt::format("\"{}\" is not defined", name));
  return found->second.id;
}

std::string_view GrammarParser::take_marker() {
  const std::size_t begin = cursor_.position();
  while (!at_line_end() && cursor_.peek() != '>') cursor_.skip(1);
  cursor_.expect(">");
  return cursor_.since(begin);
}

ExprId GrammarParser::marker(std::string_view name, std::size_t position) {
  source_.work()->take(kPartWork + vocabulary_.markers().size() / 4);
  const std::optional<TokenId> id = vocabulary_.marker(name);
  if (!id) cursor_.fail_at(position, fmt::format("the model has no marker token \"{}\"", name));
  return marker(*id, name, position);
}

ExprId GrammarParser::marker(TokenId id, std::string_view name, std::size_t position) {
  if (vocabulary_.is_stop(id)) cursor_.fail_at(position, stop_marker_message(name));
  return source_.marker(id);
}

}  // namespace lanner::text::grammar
