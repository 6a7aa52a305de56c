// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/byte_classes.h"
#include "text/grammar/byte_set.h"
#include "text/grammar/intern_table.h"
#include "text/grammar/multiple_state.h"
#include "text/grammar/work.h"

namespace lanner::text::grammar {

/// A regular language over bytes. Equal terms have equal ids.
using TermId = std::uint32_t;

/// No upper bound of a repetition.
inline constexpr std::uint32_t kUnbounded = ~std::uint32_t{0};

/// Regular expressions with counted repetition, intersection and complement, as a store of shared terms that
/// a finite automaton is made of by derivatives. Source: Brzozowski, "Derivatives of regular expressions",
/// JACM 1964; Owens, Reppy, Turon, "Regular-expression derivatives re-examined", JFP 2009.
class Terms {
 public:
  /// What it does counts as `work`.
  explicit Terms(std::shared_ptr<Work> work = std::make_shared<Work>(kCompileWork));
  /// From now on it counts as other work.
  void count_in(std::shared_ptr<Work> work) { work_ = std::move(work); }
  Work& work() const { return *work_; }

  TermId nothing() const { return kNothing; }    ///< No text at all.
  TermId empty() const { return kEmpty; }        ///< Only the empty text.
  TermId anything() const { return kAnything; }  ///< Every text.
  TermId bytes(const ByteSet& set);              ///< One byte of the set.
  TermId sequence(TermId first, TermId second);
  TermId choice(std::span<const TermId> terms);
  /// `min`..`max` times; kUnbounded for no upper bound.
  TermId repeat(TermId term, std::uint32_t min, std::uint32_t max);
  TermId both(std::span<const TermId> terms);
  TermId complement(TermId term);
  /// Digits with an optional fraction. divisor >= 1.
  TermId multiple(const MultipleState& state);

  /// What may follow `byte` in texts of the term. kNothing exactly when no text starts so.
  /// `representatives`: one byte of each class of the term or of one it derives from.
  TermId derivative(TermId term, std::uint8_t byte, std::span<const std::uint8_t> representatives);
  TermId derivative(TermId term, std::uint8_t byte) {
    return derivative(term, byte, byte_classes(term).representatives());
  }
  /// The byte that all texts of the term begin with and what follows it, when the term is spelled so.
  struct Spelled {
    std::uint8_t byte = 0;
    TermId rest = 0;
  };
  std::optional<Spelled> spelled(TermId term) const;
  /// Whether the empty text belongs to the term.
  bool nullable(TermId term) const { return nodes_[term].nullable; }
  /// Whether any text belongs to the term. Throws Error kUnsupported when finding out takes too long.
  bool alive(TermId term);
  bool alive(TermId term, std::span<const std::uint8_t> bytes);
  /// Bytes that no set of the term tells apart: they have equal derivatives.
  ByteClasses byte_classes(TermId term) const;
  /// A term with the same texts of up to `max_bytes` bytes and the same continuations alive after them, with
  /// counts that cannot be used up by so few bytes made unbounded: long counted texts share their masks.
  TermId within(TermId term, std::uint32_t max_bytes);

  /// How deep derivative() recurses.
  std::uint32_t depth(TermId term) const { return nodes_[term].depth; }
  std::size_t memory_bytes() const;

 private:
  static constexpr TermId kNothing = 0, kEmpty = 1, kAnything = 2;
  enum class Kind : std::uint8_t {
    kNothing,
    kEmpty,
    kBytes,
    kSequence,
    kChoice,
    kRepeat,
    kBoth,
    kComplement,
    kMultiple
  };
  /// What `a` and `b` are: kBytes: index into sets_. kSequence: first, second. kChoice, kBoth: begin and
  /// count in lists_. kRepeat: the term; min and max. kComplement: the term. kMultiple: index into
  /// multiples_.
  struct Node {
    Kind kind;
    bool nullable;
    bool boolean;  ///< Contains kBoth, kComplement or kMultiple: it may be dead without being kNothing.
    TermId a = 0, b = 0;
    std::uint32_t min = 0, max = 0;
    std::uint32_t depth = 1;
    std::uint32_t min_bytes = 0;  ///< No text of the term is shorter; found by intern().
  };

  void collect_sets(TermId term, std::vector<ByteSet>& out) const;
  TermId intern(const Node& node);
  TermId pair(TermId first, TermId second);
  TermId list(Kind kind, std::vector<TermId> terms);
  std::span<const TermId> items(const Node& node) const { return {lists_.data() + node.a, node.b}; }
  bool same(const Node& node, TermId id) const;
  std::uint32_t shortest(const Node& node) const;
  void merge_sets(std::vector<TermId>& terms);
  TermId start_derivative(TermId term, std::uint8_t byte);
  TermId find_derivative(TermId term, std::uint8_t byte);
  TermId raw_derivative(TermId term, std::uint8_t byte);
  TermId sequence_derivative(const Node& node, std::uint8_t byte);
  TermId multiple_derivative(const MultipleState& state, std::uint8_t byte);
  TermId list_derivative(TermId term, std::uint8_t byte);
  bool known_alive(TermId term, bool& alive) const;
  bool search_alive(TermId term, std::span<const std::uint8_t> bytes, std::vector<TermId>& seen);
  TermId find_within(TermId term, std::uint32_t max_bytes);

  std::shared_ptr<Work> work_;
  std::vector<Node> nodes_;
  std::vector<ByteSet> sets_;
  std::vector<MultipleState> multiples_;
  std::vector<TermId> lists_;
  InternTable table_;
  std::unordered_map<TermId, bool> alive_;
  /// By term: its derivative, found by the search with the same number.
  struct Derived {
    std::uint32_t search = 0;
    TermId term = 0;
  };
  std::vector<Derived> derived_;
  std::uint32_t search_ = 0;
  std::unordered_map<TermId, TermId> within_;  ///< For tokens of within_bytes_.
  std::uint32_t within_bytes_ = 0;
};

}  // namespace lanner::text::grammar
