// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/token.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace lanner::text {

/// Turns tokens into text as they arrive. What push() returned, joined, and then finish(), is what
/// Tokenizer::decode() gives for all tokens at once, however many come; never half a character. Copy it to be
/// able to go back to an earlier token. The tokenizer must outlive it.
///
/// Held back until it is certain: up to three bytes of a character; with byte fallback (Gemma) a run of byte
/// tokens up to the next ordinary token, as the reference turns the *whole* run into U+FFFD when any of it is
/// no text.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, DecodeOptions options = {});

  /// The text that is certain with this token, often empty. Ids without a token add nothing.
  std::string push(TokenId id);
  /// The same, appended to `out`.
  void push(TokenId id, std::string& out);
  /// Ends the text: what was held back, or U+FFFD where it never became text. Begins a new text.
  std::string finish();
  void finish(std::string& out);
  /// True when finish() would add something.
  bool holds_text() const { return stream_.held_bytes() > 0 || !byte_run_.empty(); }

 private:
  void push_byte(char byte, std::string& out);
  void end_byte_run(std::string& out);
  void emit(std::string_view text, std::string& out);

  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  Utf8Stream stream_;
  std::string byte_run_;            ///< Byte tokens so far that may still be text.
  std::size_t complete_bytes_ = 0;  ///< Bytes of the run that are whole characters.
  bool byte_run_broken_ = false;    ///< The run holds bytes that can never be text.
  std::size_t strips_left_ = 0;
};

}  // namespace lanner::text
