// SPDX-License-Identifier: MIT
#include "text/grammar/grammar_oracle.h"

#include <map>
#include <set>

namespace lanner::text::grammar::test {

namespace {

using Ends = std::set<std::size_t>;

class Oracle {
 public:
  Oracle(const GrammarSource& source, std::string_view text) : source_(source), text_(text) {}

  bool accepts() {
    ends_of_rule(source_.root(), 0);
    do {
      changed_ = false;
      const auto known = known_;
      for (const auto& [key, ends] : known) {
        Ends found = ends_of(source_.body(key.first), key.second);
        if (found != known_[key]) {
          known_[key] = std::move(found);
          changed_ = true;
        }
      }
    } while (changed_);
    return known_[{source_.root(), 0}].contains(text_.size());
  }

 private:
  Ends ends_of_rule(RuleId rule, std::size_t begin) {
    const auto [entry, added] = known_.try_emplace({rule, begin});
    if (added) changed_ = true;
    return entry->second;
  }

  Ends ends_of_sequence(const Expr& expr, std::size_t begin) {
    Ends ends{begin};
    for (const ExprId child : expr.children) {
      Ends next;
      for (const std::size_t at : ends) next.merge(ends_of(child, at));
      ends = std::move(next);
    }
    return ends;
  }

  Ends ends_of_repeat(const Expr& expr, std::size_t begin) {
    Ends result, ends{begin};
    if (expr.min == 0) result.insert(begin);
    // More rounds than bytes only repeat empty texts.
    for (std::uint32_t count = 1; count <= expr.max && count <= expr.min + text_.size() + 1; ++count) {
      Ends next;
      for (const std::size_t at : ends) next.merge(ends_of(expr.children[0], at));
      ends = std::move(next);
      if (count >= expr.min) result.insert(ends.begin(), ends.end());
    }
    return result;
  }

  Ends ends_of(ExprId id, std::size_t begin) {
    const Expr expr = source_.expr(id);
    switch (expr.kind) {
      case Expr::Kind::kEmpty:
        return {begin};
      case Expr::Kind::kLiteral:
        return text_.substr(begin).starts_with(expr.literal) ? Ends{begin + expr.literal.size()} : Ends{};
      case Expr::Kind::kByteSet:
        return begin < text_.size() && expr.set.contains(static_cast<std::uint8_t>(text_[begin]))
                   ? Ends{begin + 1}
                   : Ends{};
      case Expr::Kind::kSequence:
        return ends_of_sequence(expr, begin);
      case Expr::Kind::kChoice: {
        Ends ends;
        for (const ExprId child : expr.children) ends.merge(ends_of(child, begin));
        return ends;
      }
      case Expr::Kind::kRepeat:
        return ends_of_repeat(expr, begin);
      case Expr::Kind::kRule:
        return ends_of_rule(expr.rule, begin);
      default:
        return {};
    }
  }

  const GrammarSource& source_;
  std::string_view text_;
  std::map<std::pair<RuleId, std::size_t>, Ends> known_;
  bool changed_ = false;
};

}  // namespace

bool oracle_accepts(const GrammarSource& source, std::string_view text) {
  return Oracle(source, text).accepts();
}

}  // namespace lanner::text::grammar::test
