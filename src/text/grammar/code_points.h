// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lanner::text::grammar {

/// A set of Unicode scalar values: surrogates (U+D800..U+DFFF) never belong to it.
class CodePointSet {
 public:
  struct Range {
    char32_t first = 0, last = 0;
    friend auto operator<=>(const Range&, const Range&) = default;
  };
  static constexpr char32_t kLast = 0x10FFFF;

  CodePointSet() = default;
  static CodePointSet of(char32_t character) { return range(character, character); }
  static CodePointSet of(std::string_view ascii);
  static CodePointSet range(char32_t first, char32_t last);
  /// In any order.
  static CodePointSet of(std::vector<Range> ranges);
  static CodePointSet all() { return range(0, kLast); }
  /// Characters of a general category ("Lu") or a group of them ("L"); nothing for other names.
  static std::optional<CodePointSet> category(std::string_view name);

  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  CodePointSet complement() const;
  CodePointSet without(const CodePointSet& other) const;
  CodePointSet intersection(const CodePointSet& other) const;
  bool contains(char32_t character) const;
  /// Its character, when it has one only.
  std::optional<char32_t> only() const {
    const bool single = ranges_.size() == 1 && ranges_[0].first == ranges_[0].last;
    return single ? std::optional(ranges_[0].first) : std::nullopt;
  }
  bool empty() const { return ranges_.empty(); }
  /// Ascending, neither overlapping nor touching.
  const std::vector<Range>& ranges() const { return ranges_; }
  friend bool operator==(const CodePointSet&, const CodePointSet&) = default;

 private:
  void normalize();
  std::vector<Range> ranges_;
};

}  // namespace lanner::text::grammar
