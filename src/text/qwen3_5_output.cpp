// SPDX-License-Identifier: MIT
#include "text/qwen3_5_output.h"

#include <algorithm>

#include "text/bounded_json.h"
#include "text/markup_blanks.h"
#include "text/qwen3_5_tags.h"

namespace lanner::text {
namespace {

std::string_view after_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlanks);
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

std::string unquoted(std::string_view name) {
  name = after_blanks(name);
  while (!name.empty() && kBlanks.find(name.back()) != std::string_view::npos) name.remove_suffix(1);
  if (name.size() > 1 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front())
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

}  // namespace

bool Qwen35Output::carries_key(std::string_view key) {
  return key.size() <= kMaxName && key.find_first_of(">\n") == std::string_view::npos && unquoted(key) == key;
}

Qwen35Output::Qwen35Output(Start start)
    : state_(start == Start::kReasoning ? State::kReasoning : State::kContent) {}

void Qwen35Output::text(std::string_view text, EventWriter& events) {
  if (text.empty()) return;
  const bool in_markup = state_ == State::kTool || state_ == State::kJson || state_ == State::kName ||
                         state_ == State::kBody || state_ == State::kKey || state_ == State::kValue;
  if (in_markup) events.markup(text);
  switch (state_) {
    case State::kReasoning:
      return read_reasoning(text, events);
    case State::kContent:
      return read_content(text, events);
    case State::kTool:
    case State::kJson:
      return read_tool(text, events);
    case State::kName:
      return read_name(text, events);
    case State::kBody:
      return read_body(text, events);
    case State::kKey:
      return read_key(text, events);
    case State::kValue:
      return read_value(text, events);
    case State::kBetween:
      return read_between(text, events);
    case State::kEnded:
      return;
  }
}

void Qwen35Output::read_reasoning(std::string_view text, EventWriter& events) {
  if (newlines_to_skip_ > 0 && text.front() == '\n') {
    newlines_to_skip_ = 0;
    text.remove_prefix(1);
  }
  newlines_to_skip_ = 0;
  if (text.empty()) return;
  if (std::exchange(newline_held_, false)) events.reasoning("\n");
  if (text.back() == '\n') {
    newline_held_ = true;
    text.remove_suffix(1);
  }
  events.reasoning(text);
}

void Qwen35Output::begin_content(int newlines_to_skip) {
  state_ = State::kContent;
  newlines_to_skip_ = newlines_to_skip;
  reasoning_just_ended_ = newlines_to_skip > 0;
  line_start_ = true;
  content_seen_ = false;
  held_.clear();
}

void Qwen35Output::read_content(std::string_view text, EventWriter& events) {
  while (newlines_to_skip_ > 0 && !text.empty() && text.front() == '\n') {
    --newlines_to_skip_;
    text.remove_prefix(1);
  }
  if (text.empty()) return;
  newlines_to_skip_ = 0;
  reasoning_just_ended_ = false;
  held_ += text;
  resolve_content(events);
}

Qwen35Output::Match Qwen35Output::match_bare_call(std::string_view text, const EventWriter& events) {
  if (!events.tools().any()) return Match::kNo;
  if (kFunction.starts_with(text)) return Match::kMaybe;
  if (!text.starts_with(kFunction)) return Match::kNo;
  const std::string_view rest = text.substr(kFunction.size());
  const std::size_t end = rest.find_first_of(">\n");
  if (std::min(end, rest.size()) > kMaxName) return Match::kNo;
  if (end == std::string_view::npos) return Match::kMaybe;
  return rest[end] == '>' && events.tools().contains(unquoted(rest.substr(0, end))) ? Match::kYes
                                                                                    : Match::kNo;
}

// Shows what is certain of the held content. Not certain: blanks before the first word, which a call would
// drop, and the beginning of a line that may be a call without its outer marker.
void Qwen35Output::resolve_content(EventWriter& events) {
  while (!held_.empty()) {
    const std::size_t blanks = content_seen_ ? 0 : held_.find_first_not_of(kBlanks);
    if (blanks == std::string::npos) return;
    const bool starts_line = blanks == 0 ? line_start_ : held_[blanks - 1] == '\n';
    if (starts_line && bare_calls_) {
      const Match match = match_bare_call(std::string_view(held_).substr(blanks), events);
      if (match == Match::kMaybe) return;
      if (match == Match::kYes) {
        const std::string call = held_.substr(blanks);
        held_.clear();
        state_ = State::kTool;
        return begin_tool(call, events);
      }
    }
    const std::size_t newline = held_.find('\n', blanks);
    const std::string shown = held_.substr(0, newline == std::string::npos ? held_.size() : newline + 1);
    held_.erase(0, shown.size());
    show_content(shown, events);
  }
}

void Qwen35Output::show_content(std::string_view text, EventWriter& events) {
  if (text.empty()) return;
  content_seen_ |= !is_blank(text);
  line_start_ = text.back() == '\n';
  events.content(text);
}

void Qwen35Output::flush_content(EventWriter& events) { show_content(std::exchange(held_, {}), events); }

void Qwen35Output::begin_tool(std::string_view text, EventWriter& events) {
  events.markup(text);
  read_tool(text, events);
}

// After <tool_call>: a function tag or a JSON object.
void Qwen35Output::read_tool(std::string_view text, EventWriter& events) {
  held_ += text;
  const std::string_view start = after_blanks(held_);
  if (state_ == State::kJson || start.empty() || kFunction.starts_with(start)) return;
  if (start[0] == '{') {
    state_ = State::kJson;
  } else if (start.starts_with(kFunction)) {
    const std::string rest(start.substr(kFunction.size()));
    held_.clear();
    state_ = State::kName;
    read_name(rest, events);
  } else {
    break_off(events);
  }
}

void Qwen35Output::read_name(std::string_view text, EventWriter& events) {
  held_ += text;
  const std::size_t end = held_.find_first_of(">\n");
  if (std::min(end, held_.size()) > kMaxName || (end != std::string::npos && held_[end] == '\n'))
    return break_off(events);
  if (end == std::string::npos) return;
  function_ = unquoted(std::string_view(held_).substr(0, end));
  const std::string rest = held_.substr(end + 1);
  held_.clear();
  if (function_.empty()) return break_off(events);
  keys_.clear();
  events.start_call(function_);
  events.arguments("{");
  state_ = State::kBody;
  read_body(rest, events);
}

void Qwen35Output::read_body(std::string_view text, EventWriter& events) {
  held_ += text;
  while (true) {
    // Text between the tags means nothing.
    const std::size_t tag = held_.find('<');
    if (tag == std::string::npos) return held_.clear();
    held_.erase(0, tag);
    if (held_.starts_with(kParameter)) {
      const std::string rest = held_.substr(kParameter.size());
      held_.clear();
      state_ = State::kKey;
      return read_key(rest, events);
    }
    if (held_.starts_with(kFunctionEnd)) {
      const std::string rest = held_.substr(kFunctionEnd.size());
      held_.clear();
      events.drop_markup(rest.size());
      end_call(events);
      return this->text(rest, events);
    }
    if (kParameter.starts_with(held_) || kFunctionEnd.starts_with(held_)) return;
    held_.erase(0, 1);
  }
}

void Qwen35Output::read_key(std::string_view text, EventWriter& events) {
  held_ += text;
  const std::size_t end = held_.find_first_of(">\n");
  if (std::min(end, held_.size()) > kMaxName || (end != std::string::npos && held_[end] == '\n'))
    return break_off(events);
  if (end == std::string::npos) return;
  const std::string key = unquoted(std::string_view(held_).substr(0, end));
  const std::string rest = held_.substr(end + 1);
  held_.clear();
  begin_parameter(key, events);
  read_value(rest, events);
}

void Qwen35Output::begin_parameter(const std::string& key, EventWriter& events) {
  state_ = State::kValue;
  value_.begin();
  value_schema_ = events.tools().arguments(function_).property(key);
  muted_ = !keys_.insert(key).second;
  if (muted_) return;
  events.arguments((keys_.size() > 1 ? "," : "") + json_string(key) + ":");
  if (value_schema_.is_string_only()) events.arguments("\"");
}

void Qwen35Output::read_value(std::string_view text, EventWriter& events) {
  if (text.empty()) return;
  std::string piece;
  const Qwen35Value::Status status = value_.read(text, piece);
  take_value(piece, events);
  if (status == Qwen35Value::Status::kMore) return;
  const std::string rest = value_.rest();
  end_parameter(events);
  read_body(rest, events);
}

// Strings are passed on as they come; other values wait for their end.
void Qwen35Output::take_value(const std::string& piece, EventWriter& events) {
  if (!value_schema_.is_string_only())
    held_ += piece;
  else if (!muted_ && !piece.empty())
    events.arguments(json_escaped(piece));
}

void Qwen35Output::end_parameter(EventWriter& events) {
  const std::string text = std::exchange(held_, {});
  state_ = State::kBody;
  if (muted_) return;
  events.arguments(value_schema_.is_string_only()
                       ? "\""
                       : coerce_to_json(text, value_schema_, Untyped::kLiteralButStrings));
}

void Qwen35Output::end_call(EventWriter& events) {
  events.arguments("}");
  held_.clear();
  state_ = State::kBetween;
  if (!events.end_call()) begin_plain_content();
}

void Qwen35Output::read_between(std::string_view text, EventWriter& events) {
  held_ += text;
  const std::string_view start = after_blanks(held_);
  if (start.empty() || kFunction.starts_with(start)) return;
  const std::string held = std::exchange(held_, {});
  if (after_blanks(held).starts_with(kFunction)) {
    state_ = State::kTool;
    return begin_tool(held, events);
  }
  begin_content(0);
  read_content(held, events);
}

// Goes on after markup that was shown as content.
void Qwen35Output::begin_plain_content() {
  begin_content(0);
  content_seen_ = true;
  bare_calls_ = false;
  broken_markup_ = true;
}

void Qwen35Output::break_off(EventWriter& events) {
  events.break_off_call();
  begin_plain_content();
}

bool Qwen35Output::read_json_call(EventWriter& events) {
  const auto parsed = parse_bounded_json(held_);
  if (!parsed || !parsed->is_object() || !parsed->contains("name") || !(*parsed)["name"].is_string())
    return false;
  const nlohmann::ordered_json& call = *parsed;
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  for (const char* key : {"arguments", "parameters"})
    if (call.contains(key)) arguments = call[key];
  if (arguments.is_string()) arguments = parse_bounded_json(arguments.get<std::string>()).value_or(nullptr);
  if (!arguments.is_object()) return false;
  events.start_call(call["name"].get<std::string>());
  events.arguments(arguments.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  held_.clear();
  state_ = State::kBetween;
  if (!events.end_call()) begin_plain_content();
  return true;
}

// </tool_call>, or something that implies it.
void Qwen35Output::close_call(std::string_view spelling, EventWriter& events) {
  switch (state_) {
    case State::kValue: {
      std::string piece;
      value_.end_at_marker(piece);
      take_value(piece, events);
      end_parameter(events);
      return end_call(events);
    }
    case State::kBody:
      return end_call(events);
    case State::kJson:
      if (read_json_call(events)) return;
      events.markup(spelling);
      break_off(events);
      broken_markup_ = false;
      return;
    case State::kTool:
    case State::kName:
    case State::kKey:
      events.markup(spelling);
      break_off(events);
      broken_markup_ = false;
      return;
    default:
      return;
  }
}

void Qwen35Output::marker(Marker marker, std::string_view spelling, EventWriter& events) {
  if (state_ == State::kEnded) return;
  const bool in_value = state_ == State::kValue;
  switch (marker) {
    case Marker::kThink:
      if (in_value) return text(spelling, events);
      if (state_ == State::kReasoning) return;
      if (state_ == State::kContent && !is_blank(held_)) flush_content(events);
      close_call({}, events);
      held_.clear();
      state_ = State::kReasoning;
      newlines_to_skip_ = 1;
      return;
    case Marker::kThinkEnd:
      if (in_value) return text(spelling, events);
      if (state_ != State::kReasoning) return;
      newline_held_ = false;
      return begin_content(2);
    case Marker::kToolCall:
      if (!events.tools().any() || in_value) return text(spelling, events);
      if (state_ == State::kContent && !is_blank(held_)) flush_content(events);
      close_call({}, events);
      newline_held_ = false;
      held_.clear();
      state_ = State::kTool;
      return events.markup(spelling);
    case Marker::kToolCallEnd:
      if (!events.tools().any()) return text(spelling, events);
      if (state_ == State::kReasoning) return;
      if (state_ != State::kContent) close_call(spelling, events);
      if (state_ == State::kBetween) return begin_content(0);
      if (std::exchange(broken_markup_, false)) text(spelling, events);
      return;
    case Marker::kStop:
      finish(events);
      state_ = State::kEnded;
      return;
  }
}

void Qwen35Output::finish(EventWriter& events) {
  if (state_ == State::kReasoning && std::exchange(newline_held_, false)) events.reasoning("\n");
  if (state_ == State::kContent && (events.calls() == 0 || !is_blank(held_))) flush_content(events);
  if (state_ == State::kJson) read_json_call(events);
  const bool unfinished = state_ == State::kTool || state_ == State::kJson || state_ == State::kName ||
                          state_ == State::kBody || state_ == State::kKey || state_ == State::kValue;
  if (unfinished) break_off(events);
  state_ = State::kEnded;
}

}  // namespace lanner::text
