// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "text/output_parser_tools.h"
#include "text/qwen3_5_output_value.h"

namespace lanner::text {

/// Reads Qwen 3.5's answers: thinking up to </think>, text, and
/// <tool_call><function=NAME><parameter=KEY>value
/// </parameter></function></tool_call>, where only the outer markers are tokens. Also calls without the outer
/// marker at the start of a line, without closing tags, and the older JSON form inside <tool_call>.
class Qwen35Output {
 public:
  enum class Marker : std::uint8_t { kThink, kThinkEnd, kToolCall, kToolCallEnd, kStop };
  enum class Start : std::uint8_t { kContent, kReasoning };

  explicit Qwen35Output(Start start);

  /// Whether the name of a parameter is read as itself.
  static bool carries_key(std::string_view key);

  void text(std::string_view text, EventWriter& events);
  /// `spelling` is the marker's text, for where it is shown.
  void marker(Marker marker, std::string_view spelling, EventWriter& events);
  void finish(EventWriter& events);
  bool in_reasoning() const { return state_ == State::kReasoning; }
  /// What was read last is the end of the thinking: </think>, and the newlines behind it, which are dropped.
  bool ends_reasoning() const { return state_ == State::kContent && reasoning_just_ended_; }
  bool in_tool_call() const {
    return state_ != State::kReasoning && state_ != State::kContent && state_ != State::kEnded;
  }

 private:
  enum class State : std::uint8_t {
    kReasoning,
    kContent,
    kTool,
    kJson,
    kName,
    kBody,
    kKey,
    kValue,
    kBetween,
    kEnded
  };

  void read_reasoning(std::string_view text, EventWriter& events);
  void read_content(std::string_view text, EventWriter& events);
  void resolve_content(EventWriter& events);
  void read_tool(std::string_view text, EventWriter& events);
  void read_name(std::string_view text, EventWriter& events);
  void read_body(std::string_view text, EventWriter& events);
  void read_key(std::string_view text, EventWriter& events);
  void read_value(std::string_view text, EventWriter& events);
  void read_between(std::string_view text, EventWriter& events);
  enum class Match : std::uint8_t { kNo, kMaybe, kYes };
  static Match match_bare_call(std::string_view text, const EventWriter& events);
  void begin_tool(std::string_view text, EventWriter& events);
  void begin_content(int newlines_to_skip);
  void begin_plain_content();
  void show_content(std::string_view text, EventWriter& events);
  void flush_content(EventWriter& events);
  void begin_parameter(const std::string& key, EventWriter& events);
  void end_parameter(EventWriter& events);
  void end_call(EventWriter& events);
  void take_value(const std::string& piece, EventWriter& events);
  void close_call(std::string_view spelling, EventWriter& events);
  void break_off(EventWriter& events);
  bool read_json_call(EventWriter& events);

  State state_;
  std::string held_;  ///< Text whose meaning is not certain yet.
  int newlines_to_skip_ = 0;
  bool reasoning_just_ended_ = false;
  bool newline_held_ = false;   ///< A newline that may stand before </think>.
  bool line_start_ = true;      ///< Content is at the start of a line.
  bool content_seen_ = false;   ///< Something other than blanks was shown since the last call.
  bool bare_calls_ = true;      ///< Not after broken markup, which is shown as it is.
  bool broken_markup_ = false;  ///< An opener was shown as text: so will be its end.
  std::string function_;
  std::set<std::string> keys_;
  ValueSchema value_schema_;
  bool muted_ = false;  ///< The parameter repeats an earlier key.
  Qwen35Value value_;
};

}  // namespace lanner::text
