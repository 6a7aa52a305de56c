// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanner::text::grammar {

/// Largest grammar text or expression, in bytes, and deepest nesting of its parentheses.
inline constexpr std::size_t kMaxGrammarBytes = std::size_t{4} << 20;
inline constexpr int kMaxNesting = 200;
/// Highest repeat count that may be asked for.
inline constexpr std::uint32_t kMaxRepeat = 100'000;

/// A place in a grammar's text, for the parsers of its dialects. Its errors are kInvalidArgument and read
///   grammar: line 3, column 7 (byte 42): expected "]"
class Cursor {
 public:
  /// `what` names the text in errors. Throws for text that is too long or not UTF-8. The text must outlive
  /// it.
  Cursor(std::string_view text, std::string_view what);

  bool at_end() const { return position_ == text_.size(); }
  /// The next byte, or NUL at the end.
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool next_is(std::string_view text) const { return text_.substr(position_).starts_with(text); }
  /// Steps over `text` when it comes next.
  bool take(std::string_view text);
  void expect(std::string_view text);
  void skip(std::size_t bytes) { position_ += bytes; }
  /// The next character; at_end() must be false.
  char32_t take_character();
  /// Exactly `digits` hexadecimal digits that make a Unicode scalar value.
  char32_t take_hex(int digits);
  /// A decimal number. Throws above `max`.
  std::uint32_t take_number(std::uint32_t max);
  bool next_is_digit() const { return peek() >= '0' && peek() <= '9'; }

  std::size_t position() const { return position_; }
  void go_to(std::size_t position) { position_ = position; }
  std::string_view since(std::size_t begin) const { return text_.substr(begin, position_ - begin); }

  [[noreturn]] void fail(std::string_view complaint) const { fail_at(position_, complaint); }
  [[noreturn]] void fail_at(std::size_t position, std::string_view complaint) const;
  /// The same for what is well formed but cannot be enforced: kUnsupported.
  [[noreturn]] void unsupported(std::string_view complaint) const;

  /// Counts a level of nesting while it lives.
  class Nested {
   public:
    explicit Nested(Cursor& cursor) : cursor_(cursor) {
      if (++cursor_.nesting_ > kMaxNesting) cursor_.fail("parentheses nest too deeply");
    }
    ~Nested() { --cursor_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Cursor& cursor_;
  };

 private:
  std::string_view text_;
  std::string what_;
  std::size_t position_ = 0;
  int nesting_ = 0;
};

}  // namespace lanner::text::grammar
