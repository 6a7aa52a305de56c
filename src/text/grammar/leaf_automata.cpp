// SPDX-License-Identifier: MIT
#include "text/grammar/leaf_automata.h"

#include <algorithm>

#include "core/error.h"

namespace lanner::text::grammar {

namespace {

constexpr std::size_t kMaxStates = 4'000'000;

}  // namespace

LeafAutomata::LeafAutomata(Terms terms, const std::vector<TermId>& leaves) : terms_(std::move(terms)) {
  class_of_.emplace_back().fill(0);  // The dead state's.
  class_count_.push_back(1);
  representatives_.push_back({0});
  states_.push_back({});
  transitions_.push_back(kDead);
  for (const TermId term : leaves) add_leaf(term);
}

void LeafAutomata::add_leaf(TermId term) {
  std::vector<ByteSet> sets;
  terms_.collect_sets(term, sets);
  std::array<std::uint8_t, ByteSet::kByteValues> classes{};
  std::uint32_t count = 1;
  for (const ByteSet& set : sets) {
    // Each class splits into the bytes inside the set and those outside.
    std::array<std::array<int, 2>, ByteSet::kByteValues> split;
    for (auto& halves : split) halves = {-1, -1};
    std::uint32_t next = 0;
    for (unsigned i = 0; i < ByteSet::kByteValues; ++i) {
      const auto byte = static_cast<std::uint8_t>(i);
      int& half = split[classes[byte]][set.contains(byte) ? 1 : 0];
      if (half < 0) half = static_cast<int>(next++);
      classes[byte] = static_cast<std::uint8_t>(half);
    }
    count = next;
  }
  const auto leaf = static_cast<std::uint32_t>(class_of_.size());
  class_of_.push_back(classes);
  class_count_.push_back(count);
  std::vector<std::uint8_t>& bytes = representatives_.emplace_back(count);
  for (unsigned byte = 0; byte < ByteSet::kByteValues; ++byte)
    bytes[classes[byte]] = static_cast<std::uint8_t>(byte);
  starts_.push_back(state_of(leaf, term));
}

LeafState LeafAutomata::state_of(std::uint32_t leaf, TermId term) {
  if (term == terms_.nothing()) return kDead;
  const auto fresh = static_cast<LeafState>(states_.size());
  const auto [known, added] = known_.emplace(std::uint64_t{leaf} << 32 | term, fresh);
  if (!added) return known->second;
  if (states_.size() >= kMaxStates)
    throw Error(ErrorKind::kUnsupported, "a regular expression of the grammar has too many states");
  states_.push_back({.term = term,
                     .leaf = leaf,
                     .transitions = static_cast<std::uint32_t>(transitions_.size()),
                     .accepts = terms_.nullable(term)});
  transitions_.resize(transitions_.size() + class_count_[leaf], kUnknown);
  return fresh;
}

LeafState LeafAutomata::find_step(LeafState state, std::uint8_t byte) {
  const State from = states_[state];
  const LeafState next = state_of(from.leaf, terms_.derivative(from.term, byte, representatives_[from.leaf]));
  transitions_[from.transitions + class_of_[from.leaf][byte]] = next;
  return next;
}

const ByteSet& LeafAutomata::next_bytes(LeafState state) {
  const auto [entry, added] = next_bytes_.emplace(state, ByteSet{});
  if (!added) return entry->second;
  ByteSet set;
  for (unsigned byte = 0; byte < ByteSet::kByteValues; ++byte)
    if (step(state, static_cast<std::uint8_t>(byte)) != kDead) set.add(static_cast<std::uint8_t>(byte));
  return next_bytes_[state] = set;
}

LeafState LeafAutomata::representative(LeafState state, std::uint32_t max_bytes) {
  if (state == kDead) return kDead;
  const State it = states_[state];
  return state_of(it.leaf, terms_.within(it.term, max_bytes));
}

std::optional<LeafAutomata::PlainStep> LeafAutomata::plain_step(LeafState state) {
  std::vector<LeafState> missing[4];  // States in which so many bytes of a character are missing.
  const auto enter = [&](std::size_t left, LeafState from, unsigned first, unsigned last) {
    for (unsigned byte = first; byte <= last; ++byte) {
      const LeafState next = step(from, static_cast<std::uint8_t>(byte));
      if (std::ranges::find(missing[left], next) == missing[left].end()) missing[left].push_back(next);
    }
  };
  struct Lead {
    std::size_t left;
    unsigned lead_first, lead_last, then_first, then_last;
  };
  // The well-formed characters of Unicode's table 3-7, by their first two bytes.
  static constexpr Lead kLeads[] = {{1, 0xE0, 0xE0, 0xA0, 0xBF},
                                    {1, 0xED, 0xED, 0x80, 0x9F},
                                    {2, 0xF0, 0xF0, 0x90, 0xBF},
                                    {2, 0xF4, 0xF4, 0x80, 0x8F}};
  PlainStep result;
  for (unsigned byte = 0x20; byte < 0x80; ++byte)
    if (byte != '"' && byte != '\\') enter(0, state, byte, byte);
  if (missing[0].size() > 1) return std::nullopt;
  enter(1, state, 0xC2, 0xDF);
  enter(2, state, 0xE1, 0xEC);
  enter(2, state, 0xEE, 0xEF);
  enter(3, state, 0xF1, 0xF3);
  for (const Lead& lead : kLeads) {
    const LeafState inside = step(state, static_cast<std::uint8_t>(lead.lead_first));
    result.accepts_inside = result.accepts_inside || accepts(inside);
    enter(lead.left, inside, lead.then_first, lead.then_last);
  }
  for (std::size_t left = 3; left > 0; --left)
    for (const LeafState inside : std::vector<LeafState>(missing[left])) {
      result.accepts_inside = result.accepts_inside || accepts(inside);
      enter(left - 1, inside, 0x80, 0xBF);
    }
  if (missing[0].size() != 1) return std::nullopt;
  result.next = missing[0].front();
  return result;
}

bool LeafAutomata::keeps_plain(LeafState state) {
  if (const std::optional<bool> known = states_[state].keeps_plain) return *known;
  bool keeps = step(state, ' ') == state;  // Rules most states out at once.
  if (keeps) {
    const std::optional<PlainStep> step = plain_step(state);
    keeps = step && step->next == state;
  }
  states_[state].keeps_plain = keeps;
  return keeps;
}

std::size_t LeafAutomata::memory_bytes() const {
  return terms_.memory_bytes() + states_.size() * (sizeof(State) + 48) +
         transitions_.size() * sizeof(LeafState) + class_of_.size() * sizeof(class_of_[0]) +
         next_bytes_.size() * 64;
}

}  // namespace lanner::text::grammar
