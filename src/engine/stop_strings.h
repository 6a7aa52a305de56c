// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::engine {

/// Finds the first of several stop strings in text that arrives in pieces. The match itself and whatever
/// follows is never given out; what could still become a match is held back. The result does not depend on
/// how the text was cut. Where matches end at the same place, the longest counts.
class StopStrings {
 public:
  /// Throws Error kInvalidArgument for an empty string.
  explicit StopStrings(std::vector<std::string> strings);

  /// The text that is certain with this piece. Nothing more comes after a match.
  std::string push(std::string_view piece);
  /// The end of the text: what was held back.
  std::string finish();
  /// The string that was met.
  const std::optional<std::string>& matched() const { return matched_; }

 private:
  /// Bytes at the end of held_ that begin some stop string.
  std::size_t pending_bytes() const;

  std::vector<std::string> strings_;
  std::string held_;
  std::optional<std::string> matched_;
};

}  // namespace lanner::engine
