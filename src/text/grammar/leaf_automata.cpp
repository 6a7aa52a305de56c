// SPDX-License-Identifier: MIT
#include "text/grammar/leaf_automata.h"

#include <algorithm>
#include <bit>

namespace lanner::text::grammar {

LeafAutomata::LeafAutomata(Terms terms, std::vector<TermId> leaves, std::shared_ptr<Work> work)
    : terms_(std::move(terms)), leaves_(std::move(leaves)), starts_(leaves_.size(), kUnknown) {
  terms_.count_in(std::move(work));
  for (std::uint32_t automaton = 0; automaton <= kLiteral;
       ++automaton) {  // The dead state's and the literals'.
    class_of_.emplace_back().fill(0);
    class_count_.push_back(1);
    representatives_.push_back({0});
  }
  states_.push_back({});
  transitions_.push_back(kDead);
}

LeafState LeafAutomata::find_start(std::uint32_t leaf) { return starts_[leaf] = start_of(leaves_[leaf]); }

/// `term`: alive.
LeafState LeafAutomata::start_of(TermId term) {
  if (const auto spelled = terms_.spelled(term)) return literal_state(term, *spelled);
  const auto known = automata_.find(term);
  if (known != automata_.end()) return state_of(known->second, term);
  const ByteClasses classes = terms_.byte_classes(term);
  work().take(4 * kPartWork);
  const auto fresh = static_cast<std::uint32_t>(class_of_.size());
  class_of_.push_back(classes.of());
  class_count_.push_back(classes.count());
  representatives_.push_back(classes.representatives());
  automata_.emplace(term, fresh);
  return state_of(fresh, term);
}

LeafState LeafAutomata::find_literal_step(LeafState state) {
  const LeafState next = start_of(states_[state].term);
  return states_[state].transitions = next;
}

LeafState LeafAutomata::literal_state(TermId term, const Terms::Spelled& spelled) {
  if (term >= literals_.size()) literals_.resize(2 * std::size_t{term} + 1, kUnknown);
  if (literals_[term] != kUnknown) return literals_[term];
  literals_[term] =
      add_state({.term = spelled.rest, .automaton = kLiteral, .transitions = kUnknown, .byte = spelled.byte});
  return literals_[term];
}

LeafState LeafAutomata::add_state(const State& state) {
  work().take(kPartWork);
  states_.push_back(state);
  return static_cast<LeafState>(states_.size() - 1);
}

LeafState LeafAutomata::state_of(std::uint32_t automaton, TermId term) {
  if (term == terms_.nothing()) return kDead;
  const std::uint64_t key = std::uint64_t{automaton} << 32 | term;
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  work().take(class_count_[automaton]);
  const LeafState fresh = add_state({.term = term,
                                     .automaton = automaton,
                                     .transitions = static_cast<std::uint32_t>(transitions_.size()),
                                     .accepts = terms_.nullable(term)});
  transitions_.resize(transitions_.size() + class_count_[automaton], kUnknown);
  known_.emplace(key, fresh);
  return fresh;
}

LeafState LeafAutomata::find_step(LeafState state, std::uint8_t byte) {
  const State from = states_[state];
  const LeafState next =
      state_of(from.automaton, terms_.derivative(from.term, byte, representatives_[from.automaton]));
  transitions_[from.transitions + class_of_[from.automaton][byte]] = next;
  return next;
}

void LeafAutomata::add_next_bytes(LeafState state, ByteSet& set) {
  if (is_literal(state)) return set.add(next_byte(state));
  auto entry = next_bytes_.find(state);
  if (entry == next_bytes_.end()) {
    ByteSet bytes;
    work().take(ByteSet::kByteValues);
    for (unsigned byte = 0; byte < ByteSet::kByteValues; ++byte)
      if (step(state, static_cast<std::uint8_t>(byte)) != kDead) bytes.add(static_cast<std::uint8_t>(byte));
    entry = next_bytes_.emplace(state, bytes).first;
  }
  set |= entry->second;
}

LeafState LeafAutomata::representative(LeafState state, std::uint32_t max_bytes) {
  if (state == kDead || is_literal(state)) return state;
  const State it = states_[state];
  return state_of(it.automaton, terms_.within(it.term, max_bytes));
}

/// Where every character beyond ASCII leads; no classes when that depends on the character.
LeafAutomata::PlainStep LeafAutomata::step_beyond_ascii(LeafState state) {
  work().take(kPartWork);
  std::vector<LeafState> missing[4];  // States in which so many bytes of a character are missing.
  const auto enter = [&](std::size_t left, LeafState from, unsigned first, unsigned last) {
    work().take((last - first + 1) * (1 + missing[left].size() / 8));
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
  constexpr PlainStep kAllRefused{.classes = PlainClasses{1} << kBeyondAscii, .next = kDead};
  PlainStep result = kAllRefused;
  if (step_all(state, 0xC2, 0xF4) == kDead) return kAllRefused;
  for (unsigned lead = 0xC2; lead <= 0xF4; ++lead)
    if (step(state, static_cast<std::uint8_t>(lead)) == kDead) return {};
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
  if (missing[0].size() != 1) return {};
  result.next = missing[0].front();
  return result;
}

/// Where all of the bytes first..last lead, or kMixed.
LeafState LeafAutomata::step_all(LeafState state, std::uint8_t first, std::uint8_t last) {
  const LeafState next = step(state, first);
  for (unsigned byte = first + 1U; byte <= last; ++byte)
    if (step(state, static_cast<std::uint8_t>(byte)) != next) return kMixed;
  return next;
}

LeafState LeafAutomata::find_class_step(LeafState state, std::uint8_t plain_class) {
  work().take(kPartWork);
  static constexpr std::uint8_t kFirst[] = {0, 'a', 'A', '0'}, kLast[] = {0, 'z', 'Z', '9'};
  LeafState next = kMixed;
  if (plain_class == kBeyondAscii) {
    const PlainStep beyond = step_beyond_ascii(state);
    if (beyond.classes != 0 && !beyond.accepts_inside) next = beyond.next;
  } else {
    next = step_all(state, kFirst[plain_class], kLast[plain_class]);
  }
  std::uint32_t& known = states_[state].spread;
  if (known == kUnknown) {
    known = static_cast<std::uint32_t>(spread_steps_.size());
    spread_steps_.emplace_back().fill(kUnknown);
  }
  return spread_steps_[known][plain_class] = next;
}

const LeafAutomata::PlainStep& LeafAutomata::find_plain_step(LeafState state) {
  const PlainStep beyond = step_beyond_ascii(state);
  std::array<LeafState, kPlainClassCount> leads_to;
  leads_to[kBeyondAscii] = beyond.classes == 0 ? kMixed : beyond.next;
  for (std::uint8_t its_class = kBeyondAscii + 1; its_class < kPlainClassCount; ++its_class)
    leads_to[its_class] = class_step(state, its_class);
  PlainStep best;
  int most = 0;
  for (unsigned candidate = 0; candidate < kPlainClassCount; ++candidate) {
    const LeafState next = leads_to[candidate];
    if (next == kDead || next == kMixed) continue;
    PlainClasses classes = 0;
    for (unsigned other = candidate; other < kPlainClassCount; ++other)
      if (leads_to[other] == next) classes |= PlainClasses{1} << other;
    if (std::popcount(classes) > most) {
      best = {.classes = classes, .next = next};
      most = std::popcount(classes);
    }
  }
  if (std::ranges::count(leads_to, kDead) == kPlainClassCount) best.classes = kAllPlain;
  best.accepts_inside = beyond.accepts_inside && (best.classes >> kBeyondAscii & 1) != 0;
  states_[state].plain_step = static_cast<std::uint32_t>(plain_steps_.size());
  return plain_steps_.emplace_back(best);
}

bool LeafAutomata::reads_plain(LeafState state, PlainClasses classes, std::size_t characters) {
  for (; characters > 0; --characters) {
    const PlainStep& step = plain_step(state);
    if (step.next == kDead || (classes & ~step.classes) != 0) return false;
    if (step.next == state) return true;
    state = step.next;
  }
  return true;
}

std::size_t LeafAutomata::memory_bytes() const {
  return terms_.memory_bytes() + states_.size() * (sizeof(State) + 48) +
         transitions_.size() * sizeof(LeafState) + plain_steps_.size() * sizeof(PlainStep) +
         spread_steps_.size() * sizeof(SpreadSteps) + class_of_.size() * sizeof(class_of_[0]) +
         next_bytes_.size() * 64;
}

}  // namespace lanner::text::grammar
