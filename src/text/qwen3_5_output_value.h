// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace lanner::text {

/// Finds the end of a parameter's raw text as it arrives. A closing tag ends the value only if what follows,
/// blanks aside, is the next tag; a new <parameter= at the start of a line ends it too (its own end is
/// missing). One newline at each end is not part of the value.
class Qwen35Value {
 public:
  enum class Status : std::uint8_t { kMore, kDone };

  /// Forgets the value before.
  void begin();
  /// Takes more text. Certain text of the value is appended to `value`; once done, rest() is what follows it.
  Status read(std::string_view text, std::string& value);
  /// A token marker that ends the call: everything held belongs to the value, except a closing tag.
  void end_at_marker(std::string& value);
  const std::string& rest() const { return held_; }

 private:
  enum class Candidate : std::uint8_t { kNone, kUndecided, kCloses };

  Candidate examine(std::size_t at) const;
  Candidate examine_following(std::size_t at, std::initializer_list<std::string_view> tags) const;
  void accept(std::size_t count, std::string& value);

  std::string held_;
  bool at_start_ = true;    ///< The leading newline has not been looked for yet.
  bool line_start_ = true;  ///< What comes next is at the start of a line.
};

}  // namespace lanner::text
