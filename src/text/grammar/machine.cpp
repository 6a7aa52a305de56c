// SPDX-License-Identifier: MIT
#include "text/grammar/machine.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace lanner::text::grammar {

namespace {

/// Whole masks that are remembered: 32 KiB each at 262144 tokens.
constexpr std::size_t kMaxMasks = 256;

/// What a machine may remember.
constexpr std::size_t kMaxMachineBytes = std::size_t{256} << 20;

/// Between two looks at a machine that another thread uses.
constexpr std::chrono::microseconds kAMoment(50);

}  // namespace

Machine::Machine(std::shared_ptr<const Program> program, std::shared_ptr<const GrammarVocabulary> vocabulary)
    : program_(std::move(program)),
      vocabulary_(std::move(vocabulary)),
      leaves_(program_->terms, program_->leaves, work_),
      parse_(*program_, leaves_),
      leaf_masks_(*vocabulary_, leaves_),
      path_(vocabulary_->max_bytes() + 1) {}

std::unique_lock<std::mutex> Machine::lock(const WorkDeadline& until) {
  if (!until) return std::unique_lock(mutex_);
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock()) {
    if (std::chrono::steady_clock::now() >= *until) throw GrammarLate();
    std::this_thread::sleep_for(kAMoment);
  }
  return lock;
}

void Machine::begin(std::uint64_t work, WorkDeadline until) {
  work_->renew(is_exhausted_ ? 0 : work, until);
  if (remembered_bytes() > kMaxMachineBytes)
    throw GrammarLimit("the grammar takes too much memory: it has too many states");
}

template <typename Find>
void Machine::noting_limit(const Find& find) {
  try {
    find();
  } catch (const GrammarLimit&) {
    is_exhausted_ = true;
    throw;
  }
}

ParseState Machine::step_token(ParseState state, TokenId token, WorkDeadline until) {
  const auto held = lock(until);
  begin(kTokenWork, until);
  if (vocabulary_->is_marker(token)) return parse_.step_marker(state, token);
  const std::string_view text = vocabulary_->text(token);
  if (text.empty()) return ParseStates::kDead;
  for (const char byte : text) state = parse_.step(state, static_cast<std::uint8_t>(byte));
  return state;
}

ParseState Machine::step_text(ParseState state, std::string_view text, Work& work) {
  const std::lock_guard lock(mutex_);
  begin(work.left());
  for (const char byte : text) {
    work_->take(8);
    state = parse_.step(state, static_cast<std::uint8_t>(byte));
  }
  work.renew(work_->left());
  return state;
}

bool Machine::accepts(ParseState state, WorkDeadline until) {
  const auto held = lock(until);
  return parse_.accepts(state);
}

void Machine::fill_mask(ParseState state, std::span<std::uint64_t> mask, WorkDeadline until) {
  const auto held = lock(until);
  const auto known = masks_.find(state);
  if (known != masks_.end()) {
    std::ranges::copy(known->second, mask.begin());
    return;
  }
  begin(kTokenWork, until);
  noting_limit([&] { compute_mask(state, mask); });
  if (masks_.size() >= kMaxMasks) masks_.clear();
  masks_.emplace(state, std::vector<std::uint64_t>(mask.begin(), mask.end()));
}

void Machine::compute_mask(ParseState state, std::span<std::uint64_t> mask) {
  std::ranges::fill(mask, std::uint64_t{0});
  LeafState previous = LeafAutomata::kDead;
  std::vector<LeafMasks::Literal> literals;
  work_->take(parse_.items(state).size());
  for (std::uint32_t i = 0; i < parse_.items(state).size(); ++i) {
    const ParseStates::Item item = parse_.items(state)[i];
    if (leaves_.is_literal(item.leaf)) {
      literals.push_back({.state = item.leaf, .item = i});
      continue;
    }
    const LeafMask& leaf = leaf_masks_.of(item.leaf);
    if (item.leaf != previous) {
      work_->take(leaf.memory_bytes() / 64);
      leaf.add_to(mask, *vocabulary_);
    }
    previous = item.leaf;
    if (!leaf.has_exits()) continue;
    const ParseState behind = parse_.after(item.then);
    if (parse_.items(behind).empty()) continue;
    add_class_exits(leaf.class_exits, behind, mask);
    add_exits(vocabulary_->plain(), leaf.plain_exits, behind, mask);
    add_exits(vocabulary_->rest(), leaf.rest_exits, behind, mask);
  }
  for (const TokenTrie* trie : {&vocabulary_->plain(), &vocabulary_->rest()})
    for (const LeafMasks::Exit& exit : leaf_masks_.add_literals(literals, *trie, mask))
      add_exits(*trie, {&exit.node, 1}, parse_.after(parse_.items(state)[exit.item].then), mask);
  add_markers(state, mask);
  if (parse_.accepts(state))
    for (const TokenId stop : vocabulary_->stop_ids()) allow_token(mask, stop);
}

/// Allows the tokens that go on behind the nodes `exits` of the trie, where the parser is in state `behind`.
void Machine::add_exits(const TokenTrie& trie, std::span<const std::uint32_t> exits, ParseState behind,
                        std::span<std::uint64_t> mask) {
  const ByteSet first = next_bytes(behind);
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (const std::uint32_t exit : exits) {
    work_->take(4);
    for (std::uint32_t child = exit + 1; child < nodes[exit].end; child = nodes[child].end)
      if (first.contains(nodes[child].byte)) add_subtree(trie, child, behind, mask);
  }
}

/// The same behind texts that `exits` of the class trie spell.
void Machine::add_class_exits(std::span<const std::uint32_t> exits, ParseState behind,
                              std::span<std::uint64_t> mask) {
  if (exits.empty()) return;
  const ByteSet first = next_bytes(behind);
  const ClassTrie& classes = vocabulary_->classes();
  const std::span<const ClassTrie::Node> nodes = classes.nodes();
  const TokenTrie& trie = vocabulary_->plain();
  for (const std::uint32_t exit : exits)
    for (std::uint32_t child = exit + 1; child < nodes[exit].end; child = nodes[child].end) {
      work_->take(1 + classes.entries(child).size());
      const std::uint8_t its_class = nodes[child].its_class;
      if (its_class >= kSpreadClasses && !first.contains(kClassByte[its_class])) continue;
      for (const std::uint32_t entry : classes.entries(child))
        if (first.contains(trie.nodes()[entry].byte)) add_subtree(trie, entry, behind, mask);
    }
}

/// Allows the tokens at and below `root`, the parser being in `state` before root's byte.
void Machine::add_subtree(const TokenTrie& trie, std::uint32_t root, ParseState state,
                          std::span<std::uint64_t> mask) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  path_[nodes[root].depth - 1U] = state;
  for (std::uint32_t i = root; i < nodes[root].end;) {
    const TokenTrie::Node& node = nodes[i];
    work_->take(2);
    const ParseState next = parse_.step(path_[node.depth - 1U], node.byte);
    if (next == ParseStates::kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = next;
    if (node.token != TokenTrie::kNoToken) {
      allow_token(mask, node.token);
      if (node.has_namesakes)
        for (const TokenTrie::Namesake& other : trie.namesakes(i, i + 1)) allow_token(mask, other.token);
    }
    ++i;
  }
}

void Machine::add_markers(ParseState state, std::span<std::uint64_t> mask) {
  for (const ParseStates::MarkerItem& item : parse_.markers(state)) {
    if (item.kind == Program::EdgeKind::kMarker) {
      allow_token(mask, static_cast<TokenId>(item.target));
      continue;
    }
    const std::vector<TokenId>& but = program_->other_markers[item.target];
    for (const GrammarVocabulary::Marker& marker : vocabulary_->markers())
      if (!vocabulary_->is_stop(marker.id) && std::ranges::find(but, marker.id) == but.end())
        allow_token(mask, marker.id);
  }
}

const ByteSet& Machine::next_bytes(ParseState state) {
  const auto known = next_bytes_.find(state);
  if (known != next_bytes_.end()) return known->second;
  work_->take(parse_.items(state).size());
  ByteSet set;
  for (const ParseStates::Item& item : parse_.items(state)) leaves_.add_next_bytes(item.leaf, set);
  return next_bytes_.emplace(state, set).first->second;
}

std::string Machine::forced_text(ParseState state, std::size_t max_bytes, WorkDeadline until) {
  const auto held = lock(until);
  begin(kTokenWork, until);
  std::string text;
  noting_limit([&] {
    while (text.size() < max_bytes && !parse_.accepts(state) && parse_.markers(state).empty()) {
      const std::optional<std::uint8_t> only = next_bytes(state).only();
      if (!only) break;
      text.push_back(static_cast<char>(*only));
      state = parse_.step(state, *only);
    }
  });
  return text;
}

std::size_t Machine::memory_bytes() {
  const std::lock_guard lock(mutex_);
  return remembered_bytes();
}

std::size_t Machine::remembered_bytes() const {
  return leaves_.memory_bytes() + parse_.memory_bytes() + leaf_masks_.memory_bytes() +
         next_bytes_.size() * 64 + masks_.size() * mask_words(vocabulary_->size()) * sizeof(std::uint64_t);
}

}  // namespace lanner::text::grammar
