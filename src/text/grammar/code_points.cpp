// SPDX-License-Identifier: MIT
#include "text/grammar/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace lanner::text::grammar {

CodePointSet CodePointSet::of(std::string_view ascii) {
  CodePointSet set;
  for (const char c : ascii) set.add(static_cast<unsigned char>(c), static_cast<unsigned char>(c));
  return set;
}

CodePointSet CodePointSet::range(char32_t first, char32_t last) {
  CodePointSet set;
  set.add(first, last);
  return set;
}

CodePointSet CodePointSet::of(std::vector<Range> ranges) {
  CodePointSet set;
  set.ranges_ = std::move(ranges);
  set.normalize();
  return set;
}

std::optional<CodePointSet> CodePointSet::category(std::string_view name) {
  static const std::map<std::string, CodePointSet, std::less<>> kCategories = [] {
    std::map<std::string, std::vector<Range>, std::less<>> ranges;
    std::string_view before;
    for (char32_t c = 0; c <= kLast; ++c) {
      const std::string_view category = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
      std::vector<Range>& own = ranges[std::string(category)];
      if (category == before)
        own.back().last = c;
      else
        own.push_back({c, c});
      before = category;
    }
    std::map<std::string, CodePointSet, std::less<>> categories;
    for (auto& [category, own] : ranges) {
      categories[category] = CodePointSet::of(own);
      categories[category.substr(0, 1)].add(categories[category]);
    }
    std::erase_if(categories, [](const auto& category) { return category.second.empty(); });
    return categories;
  }();
  const auto found = kCategories.find(name);
  return found == kCategories.end() ? std::nullopt : std::optional(found->second);
}

void CodePointSet::add(char32_t first, char32_t last) {
  ranges_.push_back({first, last});
  normalize();
}

void CodePointSet::add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalize();
}

void CodePointSet::normalize() {
  constexpr char32_t kBelowSurrogates = 0xD7FF, kAboveSurrogates = 0xE000;
  std::vector<Range> parts;
  for (const Range& range : ranges_) {
    if (range.first <= kBelowSurrogates)
      parts.push_back({range.first, std::min(range.last, kBelowSurrogates)});
    if (range.last >= kAboveSurrogates)
      parts.push_back({std::max(range.first, kAboveSurrogates), range.last});
  }
  std::ranges::sort(parts, {}, &Range::first);
  ranges_.clear();
  for (const Range& part : parts) {
    if (!ranges_.empty() && part.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, part.last);
    else
      ranges_.push_back(part);
  }
}

CodePointSet CodePointSet::complement() const {
  CodePointSet set;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) set.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast) set.ranges_.push_back({next, kLast});
  set.normalize();
  return set;
}

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet set;
  for (std::size_t i = 0, j = 0; i < ranges_.size() && j < other.ranges_.size();) {
    const char32_t first = std::max(ranges_[i].first, other.ranges_[j].first);
    const char32_t last = std::min(ranges_[i].last, other.ranges_[j].last);
    if (first <= last) set.ranges_.push_back({first, last});
    if (ranges_[i].last < other.ranges_[j].last)
      ++i;
    else
      ++j;
  }
  return set;
}

CodePointSet CodePointSet::without(const CodePointSet& other) const {
  return intersection(other.complement());
}

bool CodePointSet::contains(char32_t character) const {
  const auto after = std::ranges::upper_bound(ranges_, character, {}, &Range::first);
  return after != ranges_.begin() && character <= std::prev(after)->last;
}

}  // namespace lanner::text::grammar
