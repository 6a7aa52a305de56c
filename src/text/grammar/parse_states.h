// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/token.h"
#include "text/grammar/intern_table.h"
#include "text/grammar/leaf_automata.h"
#include "text/grammar/program.h"

namespace lanner::text::grammar {

/// What has been read of a text, as far as it matters for what may follow: equal futures that were reached
/// alike have equal ids.
using ParseState = std::uint32_t;

/// The parser: Earley's algorithm, with each set of pending calls stored once and shared, so that states can
/// be compared, remembered and gone back to by id. Every rule's body is followed once per position, whoever
/// called it. Source: Earley, "An efficient context-free parsing algorithm", CACM 1970; the sharing is that
/// of graph-structured stacks (Tomita 1986), whose nodes here are sets of frames.
class ParseStates {
 public:
  static constexpr ParseState kDead = 0;

  /// A rule that is being read: where its caller goes on, and the caller's own callers.
  struct Frame {
    std::uint64_t place = 0;
    std::uint32_t callers = 0;
    friend auto operator<=>(const Frame&, const Frame&) = default;
  };
  /// A leaf that is being read, and what follows it.
  struct Item {
    LeafState leaf = 0;
    Frame then;
    friend auto operator<=>(const Item&, const Item&) = default;
  };
  /// A marker that may come.
  struct MarkerItem {
    Program::EdgeKind kind = Program::EdgeKind::kMarker;
    std::uint32_t target = 0;
    Frame then;
    friend auto operator<=>(const MarkerItem&, const MarkerItem&) = default;
  };

  ParseStates(const Program& program, LeafAutomata& leaves);

  ParseState start() const { return start_; }
  /// kDead when the byte cannot come.
  ParseState step(ParseState state, std::uint8_t byte);
  /// `marker`: no stop token.
  ParseState step_marker(ParseState state, TokenId marker);
  /// The state behind a leaf that is complete.
  ParseState after(Frame frame);

  bool accepts(ParseState state) const { return states_[state].accepts; }
  std::span<const Item> items(ParseState state) const {
    return {items_.data() + states_[state].first_item, states_[state].items};
  }
  std::span<const MarkerItem> markers(ParseState state) const {
    return {markers_.data() + states_[state].first_marker, states_[state].markers};
  }
  std::size_t memory_bytes() const;

 private:
  struct State {
    std::uint32_t first_item = 0, items = 0;
    std::uint32_t first_marker = 0, markers = 0;
    bool accepts = false;
  };
  struct FrameSet {
    std::uint32_t first = 0, count = 0;
  };

  static constexpr std::uint64_t kFinish = ~std::uint64_t{0};
  static std::uint64_t place(std::uint32_t node, std::uint32_t count) {
    return std::uint64_t{count} << 32 | node;
  }

  /// Follows everything that reads nothing from the places in pending_ and the calls in callers_.
  ParseState close();
  void forget_pending();
  void visit(const Frame& at);
  void follow_edges(const Program::Node& node, std::uint32_t count, std::uint32_t callers);
  void call(std::uint32_t rule, std::uint32_t node, std::uint32_t count, std::uint32_t callers);
  std::span<const Frame> frames(std::uint32_t set) const {
    return {frames_.data() + sets_[set].first, sets_[set].count};
  }
  std::uint32_t intern_frames(std::vector<Frame>& set);
  ParseState intern_state(bool accepts);

  const Program& program_;
  LeafAutomata& leaves_;
  ParseState start_ = 0;
  std::vector<State> states_;
  std::vector<Item> items_;
  std::vector<MarkerItem> markers_;
  std::vector<FrameSet> sets_;
  std::vector<Frame> frames_;
  InternTable state_table_, set_table_;
  std::unordered_map<std::uint64_t, ParseState> steps_, marker_steps_;
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, ParseState>>> after_;
  std::vector<std::uint32_t> rule_at_;  ///< By order.

  // Scratch of close().
  std::vector<Frame> pending_;
  std::vector<std::vector<Frame>> callers_;  ///< By the order of the called rule.
  std::vector<std::uint32_t> called_;        ///< A heap of orders, the least on top.
  std::vector<Item> new_items_;
  std::vector<MarkerItem> new_markers_;
  bool new_accepts_ = false;
};

}  // namespace lanner::text::grammar
