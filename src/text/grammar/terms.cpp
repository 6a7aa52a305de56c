// SPDX-License-Identifier: MIT
#include "text/grammar/terms.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace lanner::text::grammar {

namespace {

/// Steps that alive() takes at most, and deepest recursion of derivative().
constexpr std::size_t kMaxSearch = 200'000;
constexpr std::uint32_t kMaxTermDepth = 4000;

std::uint32_t one_less(std::uint32_t count) { return count == kUnbounded || count == 0 ? count : count - 1; }

/// Of two upper bounds.
std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t exact = std::uint64_t{a} * b;
  return a == kUnbounded || b == kUnbounded || exact >= kUnbounded ? kUnbounded
                                                                   : static_cast<std::uint32_t>(exact);
}

}  // namespace

Terms::Terms(std::shared_ptr<Work> work) : work_(std::move(work)) {
  nodes_.push_back({.kind = Kind::kNothing, .nullable = false, .boolean = false});
  nodes_.push_back({.kind = Kind::kEmpty, .nullable = true, .boolean = false});
  nodes_.push_back({.kind = Kind::kRepeat, .nullable = true, .boolean = false, .max = kUnbounded});
  nodes_[kAnything].a = bytes(ByteSet::all());
}

bool Terms::same(const Node& node, TermId id) const {
  const Node& other = nodes_[id];
  if (node.kind != other.kind) return false;
  switch (node.kind) {
    case Kind::kBytes:
      return sets_[node.a] == sets_[other.a];
    case Kind::kMultiple:
      return multiples_[node.a] == multiples_[other.a];
    case Kind::kChoice:
    case Kind::kBoth:
      return std::ranges::equal(items(node), items(other));
    default:
      return node.a == other.a && node.b == other.b && node.min == other.min && node.max == other.max;
  }
}

TermId Terms::intern(const Node& node) {
  std::uint64_t hash = hash_word(0, static_cast<std::uint64_t>(node.kind));
  if (node.kind == Kind::kBytes) {
    for (const std::uint64_t word : sets_[node.a].words()) hash = hash_word(hash, word);
  } else if (node.kind == Kind::kMultiple) {
    const MultipleState& state = multiples_[node.a];
    for (const std::uint64_t word :
         {state.divisor, state.remainder, std::uint64_t{state.places}, std::uint64_t{state.missing}})
      hash = hash_word(hash, word);
  } else if (node.kind == Kind::kChoice || node.kind == Kind::kBoth) {
    for (const TermId term : items(node)) hash = hash_word(hash, term);
  } else {
    for (const std::uint64_t word : {node.a, node.b, node.min, node.max}) hash = hash_word(hash, word);
  }
  work_->take(1);
  if (node.depth > kMaxTermDepth) throw GrammarLimit("a regular expression of the grammar nests too deeply");
  const auto fresh = static_cast<TermId>(nodes_.size());
  const TermId id = table_.find_or_add(hash, fresh, [&](TermId other) { return same(node, other); });
  if (id != fresh) {  // What the caller appended for this node is not needed.
    if (node.kind == Kind::kBytes) sets_.pop_back();
    if (node.kind == Kind::kMultiple) multiples_.pop_back();
    if (node.kind == Kind::kChoice || node.kind == Kind::kBoth) lists_.resize(node.a);
    return id;
  }
  nodes_.push_back(node);
  nodes_.back().min_bytes = shortest(node);
  work_->take(kPartWork);
  return id;
}

/// A lower bound of the length of the term's texts.
std::uint32_t Terms::shortest(const Node& node) const {
  constexpr std::uint64_t kEnough = 1U << 16;  // Longer than any token.
  std::uint64_t bytes = 0;
  if (node.nullable) return 0;
  if (node.kind == Kind::kBytes) return 1;
  if (node.kind == Kind::kSequence)
    bytes = std::uint64_t{nodes_[node.a].min_bytes} + nodes_[node.b].min_bytes;
  else if (node.kind == Kind::kRepeat)
    bytes = std::uint64_t{nodes_[node.a].min_bytes} * node.min;
  else if (node.kind == Kind::kChoice)
    bytes = nodes_[*std::ranges::min_element(items(node), {}, [&](TermId term) {
              return nodes_[term].min_bytes;
            })].min_bytes;
  return static_cast<std::uint32_t>(std::min(bytes, kEnough));
}

TermId Terms::bytes(const ByteSet& set) {
  if (set.empty()) return kNothing;
  sets_.push_back(set);
  return intern({.kind = Kind::kBytes,
                 .nullable = false,
                 .boolean = false,
                 .a = static_cast<TermId>(sets_.size() - 1)});
}

TermId Terms::multiple(const MultipleState& state) {
  multiples_.push_back(state);
  return intern({.kind = Kind::kMultiple,
                 .nullable = is_multiple(state),
                 .boolean = true,
                 .a = static_cast<TermId>(multiples_.size() - 1)});
}

TermId Terms::sequence(TermId first, TermId second) {
  if (first == kNothing || second == kNothing) return kNothing;
  if (first == kAnything && second == kAnything) return kAnything;
  // The first of a sequence's two parts is never a sequence itself.
  std::vector<TermId> parts;
  for (; nodes_[first].kind == Kind::kSequence; first = nodes_[first].b) parts.push_back(nodes_[first].a);
  TermId result = pair(first, second);
  for (; !parts.empty(); parts.pop_back()) result = pair(parts.back(), result);
  return result;
}

/// `first`: no sequence.
TermId Terms::pair(TermId first, TermId second) {
  if (first == kEmpty) return second;
  if (second == kEmpty) return first;
  if (first == kAnything && second == kAnything) return kAnything;
  const Node &a = nodes_[first], &b = nodes_[second];
  return intern({.kind = Kind::kSequence,
                 .nullable = a.nullable && b.nullable,
                 .boolean = a.boolean || b.boolean,
                 .a = first,
                 .b = second,
                 .depth = 1 + std::max(a.depth, a.nullable ? b.depth : 0)});
}

TermId Terms::repeat(TermId term, std::uint32_t min, std::uint32_t max) {
  if (max == 0 || term == kEmpty) return kEmpty;
  if (term == kNothing) return min == 0 ? kEmpty : kNothing;
  if (term == kAnything || (min == 1 && max == 1)) return term;
  if (nodes_[term].nullable) min = 0;
  if (term == nodes_[kAnything].a && min == 0 && max == kUnbounded) return kAnything;
  const Node& node = nodes_[term];
  if (node.kind == Kind::kRepeat && node.min <= 1)  // (x{0,m}){p,n} is x{0,mn}, (x{1,m}){p,n} is x{p,mn}.
    return repeat(node.a, min, product(node.max, max));
  return intern({.kind = Kind::kRepeat,
                 .nullable = min == 0,
                 .boolean = node.boolean,
                 .a = term,
                 .min = min,
                 .max = max,
                 .depth = 1 + node.depth});
}

TermId Terms::complement(TermId term) {
  if (term == kNothing) return kAnything;
  if (term == kAnything) return kNothing;
  if (nodes_[term].kind == Kind::kComplement) return nodes_[term].a;
  return intern({.kind = Kind::kComplement,
                 .nullable = !nodes_[term].nullable,
                 .boolean = true,
                 .a = term,
                 .depth = 1 + nodes_[term].depth});
}

/// Replaces the byte sets among the alternatives by their union.
void Terms::merge_sets(std::vector<TermId>& terms) {
  ByteSet merged;
  std::size_t sets = 0;
  for (const TermId term : terms) {
    if (nodes_[term].kind != Kind::kBytes) continue;
    merged |= sets_[nodes_[term].a];
    ++sets;
  }
  if (sets < 2) return;
  std::erase_if(terms, [&](TermId term) { return nodes_[term].kind == Kind::kBytes; });
  terms.push_back(bytes(merged));
}

TermId Terms::choice(std::span<const TermId> terms) {
  std::vector<TermId> flat;
  for (const TermId term : terms) {
    if (term == kAnything) return kAnything;
    if (term == kNothing) continue;
    if (nodes_[term].kind == Kind::kChoice) {
      const std::span<const TermId> inner = items(nodes_[term]);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(term);
    }
  }
  merge_sets(flat);
  return list(Kind::kChoice, std::move(flat));
}

TermId Terms::both(std::span<const TermId> terms) {
  std::vector<TermId> flat;
  for (const TermId term : terms) {
    if (term == kNothing) return kNothing;
    if (term == kAnything) continue;
    if (nodes_[term].kind == Kind::kBoth) {
      const std::span<const TermId> inner = items(nodes_[term]);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(term);
    }
  }
  return list(Kind::kBoth, std::move(flat));
}

TermId Terms::list(Kind kind, std::vector<TermId> terms) {
  work_->take(4 * terms.size());
  std::ranges::sort(terms);
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  if (terms.empty()) return kind == Kind::kChoice ? kNothing : kAnything;
  if (terms.size() == 1) return terms.front();
  Node node{.kind = kind,
            .nullable = kind == Kind::kBoth,
            .boolean = kind == Kind::kBoth,
            .a = static_cast<TermId>(lists_.size()),
            .b = static_cast<TermId>(terms.size())};
  for (const TermId term : terms) {
    const Node& item = nodes_[term];
    node.nullable = kind == Kind::kChoice ? node.nullable || item.nullable : node.nullable && item.nullable;
    node.boolean = node.boolean || item.boolean;
    node.depth = std::max(node.depth, 1 + item.depth);
  }
  lists_.insert(lists_.end(), terms.begin(), terms.end());
  return intern(node);
}

TermId Terms::multiple_derivative(const MultipleState& state, std::uint8_t byte) {
  work_->take(kPartWork);
  const std::optional<MultipleState> next = read_byte(state, byte);
  return next ? multiple(*next) : kNothing;
}

TermId Terms::list_derivative(TermId term, std::uint8_t byte) {
  const Node node = nodes_[term];
  std::vector<TermId> derived;
  derived.reserve(node.b);
  for (TermId i = 0; i < node.b; ++i) derived.push_back(raw_derivative(lists_[node.a + i], byte));
  return node.kind == Kind::kChoice ? choice(derived) : both(derived);
}

/// Parts of a term that are shared are derived once.
TermId Terms::raw_derivative(TermId term, std::uint8_t byte) {
  if (term < derived_.size() && derived_[term].search == search_) return derived_[term].term;
  const TermId derived = find_derivative(term, byte);
  if (term < derived_.size()) derived_[term] = {search_, derived};
  return derived;
}

TermId Terms::find_derivative(TermId term, std::uint8_t byte) {
  const Node node = nodes_[term];
  work_->take(1);
  switch (node.kind) {
    case Kind::kNothing:
    case Kind::kEmpty:
      return kNothing;
    case Kind::kBytes:
      return sets_[node.a].contains(byte) ? kEmpty : kNothing;
    case Kind::kSequence:
      return sequence_derivative(node, byte);
    case Kind::kRepeat: {
      if (term == kAnything) return kAnything;
      const TermId first = raw_derivative(node.a, byte);
      if (first == kNothing) return kNothing;
      return sequence(first, repeat(node.a, one_less(node.min), one_less(node.max)));
    }
    case Kind::kChoice:
    case Kind::kBoth:
      return list_derivative(term, byte);
    case Kind::kComplement:
      return complement(raw_derivative(node.a, byte));
    case Kind::kMultiple:
      return multiple_derivative(MultipleState(multiples_[node.a]), byte);
  }
  return kNothing;
}

TermId Terms::sequence_derivative(const Node& node, std::uint8_t byte) {
  const TermId through_first = sequence(raw_derivative(node.a, byte), node.b);
  if (!nodes_[node.a].nullable) return through_first;
  const TermId ways[] = {through_first, raw_derivative(node.b, byte)};
  return choice(ways);
}

TermId Terms::start_derivative(TermId term, std::uint8_t byte) {
  derived_.resize(nodes_.size());
  if (++search_ == 0) {
    derived_.assign(nodes_.size(), {});
    search_ = 1;
  }
  return raw_derivative(term, byte);
}

TermId Terms::derivative(TermId term, std::uint8_t byte, std::span<const std::uint8_t> representatives) {
  const TermId derived = start_derivative(term, byte);
  return alive(derived, representatives) ? derived : kNothing;
}

std::optional<Terms::Spelled> Terms::spelled(TermId term) const {
  const Node& node = nodes_[term];
  const bool sequence = node.kind == Kind::kSequence;
  const Node& first = sequence ? nodes_[node.a] : node;
  if (first.kind != Kind::kBytes) return std::nullopt;
  const std::optional<std::uint8_t> only = sets_[first.a].only();
  if (!only) return std::nullopt;
  return Spelled{.byte = *only, .rest = sequence ? node.b : kEmpty};
}

bool Terms::known_alive(TermId term, bool& alive) const {
  const Node& node = nodes_[term];
  if (node.nullable || !node.boolean) {
    alive = term != kNothing;
    return true;
  }
  const auto found = alive_.find(term);
  if (found == alive_.end()) return false;
  alive = found->second;
  return true;
}

bool Terms::alive(TermId term) {
  bool result = false;
  return known_alive(term, result) ? result : alive(term, byte_classes(term).representatives());
}

bool Terms::alive(TermId term, std::span<const std::uint8_t> bytes) {
  bool result = false;
  if (known_alive(term, result)) return result;
  std::vector<TermId> seen{term};
  try {
    return search_alive(term, bytes, seen);
  } catch (...) {  // What was not finished is not known.
    for (const TermId visited : seen) alive_.erase(visited);
    throw;
  }
}

bool Terms::search_alive(TermId term, std::span<const std::uint8_t> bytes, std::vector<TermId>& seen) {
  struct Visit {
    TermId term;
    std::size_t next = 0;
  };
  std::vector<Visit> path{{term}};
  alive_[term] = false;  // Until shown otherwise; terms on the path count as visited.
  bool found = false;
  while (!path.empty() && !found) {
    Visit& top = path.back();
    if (top.next == bytes.size()) {
      path.pop_back();
      continue;
    }
    const TermId next = start_derivative(top.term, bytes[top.next++]);
    bool next_alive = false;
    if (known_alive(next, next_alive)) {
      found = next_alive;
      continue;
    }
    if (seen.size() >= kMaxSearch)
      throw GrammarLimit("an intersection of patterns in the grammar has too many states");
    work_->take(kPartWork);
    seen.push_back(next);
    alive_[next] = false;
    path.push_back({next});
  }
  for (const Visit& visit : path) alive_[visit.term] = true;
  // A visited term off the path may only have looked dead because it leads back to the path.
  if (found)
    for (const TermId visited : seen)
      if (!alive_[visited]) alive_.erase(visited);
  return found;
}

ByteClasses Terms::byte_classes(TermId term) const {
  std::vector<ByteSet> sets;
  collect_sets(term, sets);
  ByteClasses classes;
  for (const ByteSet& set : sets) classes.split_by(set);
  return classes;
}

void Terms::collect_sets(TermId term, std::vector<ByteSet>& out) const {
  std::vector<TermId> open{term};
  std::unordered_map<TermId, bool> seen;
  while (!open.empty()) {
    const TermId id = open.back();
    open.pop_back();
    work_->take(2);
    if (!seen.emplace(id, true).second) continue;
    const Node& node = nodes_[id];
    if (node.kind == Kind::kBytes) out.push_back(sets_[node.a]);
    if (node.kind == Kind::kSequence) open.push_back(node.b);
    if (node.kind == Kind::kSequence || node.kind == Kind::kRepeat || node.kind == Kind::kComplement)
      open.push_back(node.a);
    if (node.kind == Kind::kChoice || node.kind == Kind::kBoth)
      open.insert(open.end(), items(node).begin(), items(node).end());
    if (node.kind == Kind::kMultiple)
      for (const char c : {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.'})
        out.push_back(ByteSet::of(static_cast<std::uint8_t>(c)));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

TermId Terms::within(TermId term, std::uint32_t max_bytes) {
  if (max_bytes != within_bytes_) within_.clear();
  within_bytes_ = max_bytes;
  if (nodes_[term].boolean) return term;
  const auto known = within_.find(term);
  if (known != within_.end()) return known->second;
  work_->take(kPartWork);
  const TermId found = find_within(term, max_bytes);
  within_.emplace(term, found);
  return found;
}

TermId Terms::find_within(TermId term, std::uint32_t max_bytes) {
  const Node node = nodes_[term];
  if (node.kind == Kind::kSequence) {
    std::vector<TermId> parts;
    std::uint64_t bytes = 0;  // What lies beyond max_bytes may stay.
    for (; nodes_[term].kind == Kind::kSequence && bytes <= max_bytes; term = nodes_[term].b) {
      parts.push_back(within(nodes_[term].a, max_bytes));
      bytes += nodes_[parts.back()].min_bytes;
    }
    TermId result = bytes <= max_bytes ? within(term, max_bytes) : term;
    for (; !parts.empty(); parts.pop_back()) result = sequence(parts.back(), result);
    return result;
  }
  if (node.kind == Kind::kRepeat) {
    const std::uint32_t reach = max_bytes / std::max(nodes_[node.a].min_bytes, 1U);
    const std::uint32_t max = node.max > reach ? kUnbounded : node.max;
    return repeat(node.a, std::min(node.min, reach + 1), max);
  }
  if (node.kind != Kind::kChoice) return term;
  std::vector<TermId> terms;
  for (TermId i = 0; i < node.b; ++i) terms.push_back(within(lists_[node.a + i], max_bytes));
  return choice(terms);
}

std::size_t Terms::memory_bytes() const {
  return nodes_.size() * sizeof(Node) + lists_.size() * sizeof(TermId) + sets_.size() * sizeof(ByteSet) +
         table_.memory_bytes() + derived_.size() * sizeof(Derived) + (alive_.size() + within_.size()) * 32;
}

}  // namespace lanner::text::grammar
