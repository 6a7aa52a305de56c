// SPDX-License-Identifier: MIT
#include "text/grammar/grammar_source.h"

#include <algorithm>

#include "core/error.h"
#include "text/unicode.h"

namespace lanner::text::grammar {

namespace {

/// How deep expressions nest: what walks over them recurses.
constexpr std::uint32_t kMaxDepth = 2000;

/// Literal texts from which on alternatives share their beginnings.
constexpr std::ptrdiff_t kManyLiterals = 16;

/// How deep shared beginnings of literals nest.
constexpr int kMaxSharing = 500;

/// Cuts [first, last], whose ends have UTF-8 of equal length, into ranges in which every byte runs over a
/// range of its own.
void split_utf8(char32_t first, char32_t last, int tail_bytes, std::vector<CodePointSet::Range>& out) {
  for (int tail = 1; tail <= tail_bytes; ++tail) {
    const char32_t mask = (char32_t{1} << (6 * tail)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      split_utf8(first, first | mask, tail_bytes, out);
      split_utf8((first | mask) + 1, last, tail_bytes, out);
      return;
    }
    if ((last & mask) != mask) {
      split_utf8(first, (last & ~mask) - 1, tail_bytes, out);
      split_utf8(last & ~mask, last, tail_bytes, out);
      return;
    }
  }
  out.push_back({first, last});
}

}  // namespace

ExprId GrammarSource::add(Expr expr) {
  work_->take(kPartWork + expr.literal.size() + expr.children.size() + expr.tokens.size());
  for (const ExprId child : expr.children) expr.depth = std::max(expr.depth, exprs_[child].depth + 1);
  if (expr.depth > kMaxDepth) throw GrammarLimit("the grammar nests too deeply");
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId GrammarSource::literal(std::string_view text) {
  if (text.empty()) return empty();
  return add({.kind = Expr::Kind::kLiteral, .literal = std::string(text)});
}

ExprId GrammarSource::utf8_range(char32_t first, char32_t last) {
  std::string low, high;
  append_utf8(low, first);
  append_utf8(high, last);
  std::vector<ExprId> bytes;
  for (std::size_t i = 0; i < low.size(); ++i)
    bytes.push_back(
        byte_set(ByteSet::range(static_cast<std::uint8_t>(low[i]), static_cast<std::uint8_t>(high[i]))));
  return sequence(std::move(bytes));
}

ExprId GrammarSource::character(const CodePointSet& set) {
  if (const std::optional<char32_t> only = set.only()) {
    std::string text;
    append_utf8(text, *only);
    return literal(text);
  }
  work_->take(set.ranges().size());
  const auto known = characters_.find(set.ranges());
  if (known != characters_.end()) return known->second;
  const ExprId id = write_character(set);
  characters_.emplace(set.ranges(), id);
  return id;
}

ExprId GrammarSource::write_character(const CodePointSet& set) {
  static constexpr CodePointSet::Range kByLength[] = {
      {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, CodePointSet::kLast}};
  std::vector<ExprId> ways;
  ByteSet ascii;
  for (const CodePointSet::Range& range : set.ranges()) {
    int tail_bytes = 0;
    for (const CodePointSet::Range& length : kByLength) {
      const char32_t first = std::max(range.first, length.first), last = std::min(range.last, length.last);
      if (first <= last && tail_bytes == 0) {
        for (char32_t c = first; c <= last; ++c) ascii.add(static_cast<std::uint8_t>(c));
      } else if (first <= last) {
        std::vector<CodePointSet::Range> parts;
        split_utf8(first, last, tail_bytes, parts);
        for (const CodePointSet::Range& part : parts) ways.push_back(utf8_range(part.first, part.last));
      }
      ++tail_bytes;
    }
  }
  if (!ascii.empty()) ways.push_back(byte_set(ascii));
  return choice(std::move(ways));
}

ExprId GrammarSource::sequence(std::vector<ExprId> parts) {
  const auto is_literal = [&](ExprId part) { return exprs_[part].kind == Expr::Kind::kLiteral; };
  std::vector<ExprId> merged;  // Neighbours that are literals become one.
  for (auto part = parts.begin(); part != parts.end();) {
    const auto end = std::find_if_not(part, parts.end(), is_literal);
    if (end - part < 2) {
      merged.push_back(*part++);
      continue;
    }
    std::string text;
    for (; part != end; ++part) text += exprs_[*part].literal;
    merged.push_back(literal(text));
  }
  if (merged.empty()) return empty();
  if (merged.size() == 1) return merged.front();
  return add({.kind = Expr::Kind::kSequence, .children = std::move(merged)});
}

ExprId GrammarSource::add_choice(std::vector<ExprId> ways) {
  if (ways.empty()) return nothing();
  if (ways.size() == 1) return ways.front();
  return add({.kind = Expr::Kind::kChoice, .children = std::move(ways)});
}

ExprId GrammarSource::choice(std::vector<ExprId> ways) {
  const auto is_literal = [&](ExprId way) { return exprs_[way].kind == Expr::Kind::kLiteral; };
  if (std::ranges::count_if(ways, is_literal) >= kManyLiterals) {
    std::vector<std::string> texts;
    for (const ExprId way : ways)
      if (is_literal(way)) texts.push_back(exprs_[way].literal);
    std::erase_if(ways, is_literal);
    ways.push_back(literals(std::move(texts)));
  }
  return add_choice(std::move(ways));
}

ExprId GrammarSource::literals(std::vector<std::string> texts) {
  for (const std::string& text : texts) work_->take(4 + text.size() / 8);
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts.empty() ? nothing() : shared_prefixes(texts, 0, 0);
}

/// The texts from byte `from` on, before which all are equal.
ExprId GrammarSource::shared_prefixes(std::span<const std::string> sorted, std::size_t from, int depth) {
  if (sorted.size() == 1) return literal(std::string_view(sorted.front()).substr(from));
  std::vector<ExprId> ways;
  if (depth == kMaxSharing) {
    for (const std::string& text : sorted) ways.push_back(literal(std::string_view(text).substr(from)));
    return add_choice(std::move(ways));
  }
  std::size_t begin = 0;
  if (sorted.front().size() == from) {
    ways.push_back(empty());
    begin = 1;
  }
  while (begin < sorted.size()) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end][from] == sorted[begin][from]) ++end;
    const std::string &first = sorted[begin], &last = sorted[end - 1];
    std::size_t shared = from;
    while (shared < first.size() && shared < last.size() && first[shared] == last[shared]) ++shared;
    const ExprId head = literal(std::string_view(first).substr(from, shared - from));
    ways.push_back(sequence({head, shared_prefixes(sorted.subspan(begin, end - begin), shared, depth + 1)}));
    begin = end;
  }
  return add_choice(std::move(ways));
}

ExprId GrammarSource::repeat(ExprId expr, std::uint32_t min, std::uint32_t max) {
  if (max == 0) return empty();
  if (min == 1 && max == 1) return expr;
  return add({.kind = Expr::Kind::kRepeat, .children = {expr}, .min = min, .max = max});
}

ExprId GrammarSource::until(std::string_view end) {
  const ExprId has_end = sequence({any_text(), literal(end), any_text()});
  return sequence({complement(has_end), literal(end)});
}

RuleId GrammarSource::add_rule(std::string name) {
  work_->take(kPartWork + name.size());
  rules_.push_back({.name = std::move(name)});
  return static_cast<RuleId>(rules_.size() - 1);
}

ExprId GrammarSource::add_and_reference(std::string name, ExprId body) {
  const RuleId id = add_rule(std::move(name));
  define(id, body);
  return rule(id);
}

}  // namespace lanner::text::grammar
