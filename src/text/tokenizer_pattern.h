// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lanner::io {
class Fields;
}

namespace lanner::text {

/// What a Split or Replace component looks for: a fixed text or a regular expression. Expressions are written
/// in the dialect of Oniguruma (Ruby), which the reference tokenizers use, and run on PCRE2. Constants;
/// thread-safe.
class TextPattern {
 public:
  struct Match {
    std::size_t begin = 0, end = 0;
  };

  /// Walks the matches of one text from left to right; they do not overlap. The text must outlive it.
  class Search {
   public:
    Search(const TextPattern& pattern, std::string_view text);
    /// Throws Error kInvalidArgument when the expression needs an unreasonable number of steps.
    std::optional<Match> next();

   private:
    struct FreeMatchData {
      void operator()(void* data) const;
    };
    std::optional<Match> next_literal();
    std::optional<Match> next_regex();

    const TextPattern& pattern_;
    std::string_view text_;
    std::size_t position_ = 0;
    std::optional<std::size_t> last_end_;
    std::unique_ptr<void, FreeMatchData> match_data_;
  };

  static TextPattern literal(std::string text);
  /// Throws Error kUnsupported naming `where` for an expression that PCRE2 cannot run or would read
  /// differently.
  static TextPattern regex(std::string_view expression, std::string_view where);
  /// Reads component.pattern: {"String": text} or {"Regex": expression}.
  static TextPattern parse(const io::Fields& component);

 private:
  std::string literal_;
  std::shared_ptr<const void> code_;  ///< pcre2_code; none for a fixed text.
};

/// The expression in PCRE2's dialect with the reference's meaning: `\s` is Unicode White_Space (PCRE2 counts
/// U+180E as well), `\h` a hexadecimal digit. std::nullopt for what has no counterpart (class intersections).
std::optional<std::string> pcre2_expression(std::string_view oniguruma);

}  // namespace lanner::text
