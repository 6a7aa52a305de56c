// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/token.h"
#include "text/gemma4_output_arguments.h"
#include "text/output_parser_tools.h"

namespace lanner::text {

/// Reads Gemma 4's answers: <|channel>thought ... <channel|>, <|tool_call>call:name{...}<tool_call|> and
/// text, with the deviations seen in the field (a missing opener, a missing "call", parentheses, a bare call
/// after a thought).
class Gemma4Output {
 public:
  enum class Marker : std::uint8_t { kChannel, kChannelEnd, kToolCall, kToolCallEnd, kQuote, kStop };

  /// Where an answer begins, from the end of its prompt.
  enum class Start : std::uint8_t { kContent, kAfterChannel, kChannelName, kReasoning };

  explicit Gemma4Output(Start start);

  void text(std::string_view text, EventWriter& events);
  /// `spelling` is the marker's text, for where it is shown.
  void marker(Marker marker, std::string_view spelling, EventWriter& events);
  void finish(EventWriter& events);
  bool in_reasoning() const { return state_ == State::kReasoning || state_ == State::kChannelName; }
  /// Nothing behind the end marker is dropped.
  static bool ends_reasoning() { return false; }
  bool in_tool_call() const {
    return state_ == State::kToolHead || state_ == State::kArguments || state_ == State::kAfterCall;
  }

 private:
  enum class State : std::uint8_t {
    kContent,
    kChannelName,
    kReasoning,
    kToolHead,
    kArguments,
    kAfterCall,
    kEnded
  };
  /// What the beginning of a piece of content may still turn out to be.
  struct Beginning {
    bool undecided = true;  ///< Nothing but held text so far.
    bool bare_call = false;
    bool bare_thought = false;
  };
  enum class Match : std::uint8_t { kNo, kMaybe, kYes };
  enum class Opener : std::uint8_t { kCallWord, kOptional };

  void read_content(std::string_view text, EventWriter& events);
  void read_channel_name(std::string_view text, EventWriter& events);
  void read_reasoning(std::string_view text, EventWriter& events);
  void read_tool_head(std::string_view text, EventWriter& events);
  void read_arguments(std::string_view text, EventWriter& events);
  void read_after_call(std::string_view text, EventWriter& events);
  Match match_head(std::string_view held, Opener opener, std::string& name, std::size_t& end) const;
  void start_call(const std::string& name, char bracket, std::string_view rest, EventWriter& events);
  void settle_arguments(Gemma4Arguments::Status status, std::string_view rest, EventWriter& events);
  void begin_content(Beginning beginning);
  void end_reasoning(EventWriter& events);
  void open_tool_call(std::string_view spelling, EventWriter& events);
  void leave_tool_markup(EventWriter& events);
  void literal_marker(std::string_view spelling, EventWriter& events);
  void flush_content(EventWriter& events);

  State state_ = State::kContent;
  Beginning beginning_;
  std::string held_;            ///< Text whose meaning is not certain yet.
  bool newline_held_ = false;   ///< A newline that may stand before <channel|>.
  bool broken_markup_ = false;  ///< An opener was shown as text: so will be its end.
  Gemma4Arguments arguments_;
};

}  // namespace lanner::text
