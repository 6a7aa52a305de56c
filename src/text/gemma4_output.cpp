// SPDX-License-Identifier: MIT
#include "text/gemma4_output.h"

#include <algorithm>
#include <cctype>

#include "text/markup_blanks.h"

namespace lanner::text {
namespace {

constexpr std::string_view kThought = "thought\n";
constexpr std::string_view kCall = "call";

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

// Channel names are single words; other text after <|channel> belongs to the thought.
bool is_channel_name(std::string_view text) {
  constexpr std::size_t kMaxChannelName = 24;
  return text.size() <= kMaxChannelName && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-' || c == ' ';
         });
}

}  // namespace

Gemma4Output::Gemma4Output(Start start) {
  switch (start) {
    case Start::kContent:
      begin_content({true, false, true});
      break;
    case Start::kAfterChannel:
      begin_content({true, true, true});
      break;
    case Start::kChannelName:
      state_ = State::kChannelName;
      break;
    case Start::kReasoning:
      state_ = State::kReasoning;
      break;
  }
}

void Gemma4Output::begin_content(Beginning beginning) {
  state_ = State::kContent;
  beginning_ = beginning;
  held_.clear();
}

void Gemma4Output::text(std::string_view text, EventWriter& events) {
  if (text.empty()) return;
  switch (state_) {
    case State::kContent:
      return read_content(text, events);
    case State::kChannelName:
      return read_channel_name(text, events);
    case State::kReasoning:
      return read_reasoning(text, events);
    case State::kToolHead:
      return read_tool_head(text, events);
    case State::kArguments:
      return read_arguments(text, events);
    case State::kAfterCall:
      return read_after_call(text, events);
    case State::kEnded:
      return;
  }
}

void Gemma4Output::read_content(std::string_view text, EventWriter& events) {
  if (!beginning_.undecided) return events.content(text);
  held_ += text;
  if (beginning_.bare_thought) {
    if (held_.starts_with(kThought)) {
      const std::string rest = held_.substr(kThought.size());
      held_.clear();
      state_ = State::kReasoning;
      return read_reasoning(rest, events);
    }
    if (kThought.starts_with(held_)) return;
  }
  if (beginning_.bare_call && events.tools().any()) {
    std::string name;
    std::size_t end = 0;
    const Match match = match_head(held_, Opener::kCallWord, name, end);
    if (match == Match::kMaybe) return;
    if (match == Match::kYes && events.tools().contains(name)) {
      const std::string held = std::exchange(held_, {});
      events.markup(std::string_view(held).substr(0, end));
      return start_call(name, held[end - 1], std::string_view(held).substr(end), events);
    }
  }
  if (!is_blank(held_)) flush_content(events);
}

void Gemma4Output::flush_content(EventWriter& events) {
  beginning_.undecided = false;
  events.content(std::exchange(held_, {}));
}

void Gemma4Output::read_channel_name(std::string_view text, EventWriter& events) {
  held_ += text;
  const std::size_t newline = held_.find('\n');
  if (newline == std::string::npos && is_channel_name(held_)) return;
  std::string thought = std::exchange(held_, {});
  if (newline != std::string::npos && is_channel_name(std::string_view(thought).substr(0, newline)))
    thought.erase(0, newline + 1);
  state_ = State::kReasoning;
  read_reasoning(thought, events);
}

void Gemma4Output::read_reasoning(std::string_view text, EventWriter& events) {
  if (text.empty()) return;
  if (std::exchange(newline_held_, false)) events.reasoning("\n");
  if (text.back() == '\n') {
    newline_held_ = true;
    text.remove_suffix(1);
  }
  events.reasoning(text);
}

// call:NAME{ with blanks around; after <|tool_call> the word, or all of "call:", may be missing.
Gemma4Output::Match Gemma4Output::match_head(std::string_view held, Opener opener, std::string& name,
                                             std::size_t& end) const {
  std::size_t at = std::min(held.find_first_not_of(kBlanks), held.size());
  const std::string_view rest = held.substr(at);
  if (kCall.starts_with(rest)) return Match::kMaybe;
  if (rest.starts_with(kCall) && (rest.size() == kCall.size() || rest[kCall.size()] == ':'))
    at += kCall.size();
  else if (opener == Opener::kCallWord)
    return Match::kNo;
  if (at == held.size()) return Match::kMaybe;
  if (held[at] != ':') return Match::kNo;
  const std::size_t start = held.find_first_not_of(kBlanks, at + 1);
  if (start == std::string_view::npos) return Match::kMaybe;
  std::size_t stop = start;
  while (stop < held.size() && is_name_character(held[stop])) ++stop;
  if (stop - start > kMaxName) return Match::kNo;
  const std::size_t bracket = held.find_first_not_of(kBlanks, stop);
  if (bracket == std::string_view::npos) return Match::kMaybe;
  if (stop == start || (held[bracket] != '{' && held[bracket] != '(')) return Match::kNo;
  name = held.substr(start, stop - start);
  end = bracket + 1;
  return Match::kYes;
}

void Gemma4Output::read_tool_head(std::string_view text, EventWriter& events) {
  held_ += text;
  std::string name;
  std::size_t end = 0;
  const Match match = match_head(held_, Opener::kOptional, name, end);
  if (match == Match::kMaybe) return;
  const std::string held = std::exchange(held_, {});
  if (match == Match::kYes) {
    events.markup(std::string_view(held).substr(0, end));
    return start_call(name, held[end - 1], std::string_view(held).substr(end), events);
  }
  events.markup(held);
  events.break_off_call();
  broken_markup_ = true;
  begin_content({false, false, false});
}

void Gemma4Output::start_call(const std::string& name, char bracket, std::string_view rest,
                              EventWriter& events) {
  state_ = State::kArguments;
  events.start_call(name);
  events.arguments("{");
  arguments_ = Gemma4Arguments(events.tools().arguments(name), bracket == '(' ? ')' : '}');
  read_arguments(std::string(rest), events);
}

void Gemma4Output::read_arguments(std::string_view text, EventWriter& events) {
  if (text.empty()) return;
  std::string json;
  std::string_view rest = text;
  const Gemma4Arguments::Status status = arguments_.read(rest, json);
  events.markup(text.substr(0, text.size() - rest.size()));
  if (!json.empty()) events.arguments(json);
  settle_arguments(status, rest, events);
}

void Gemma4Output::settle_arguments(Gemma4Arguments::Status status, std::string_view rest,
                                    EventWriter& events) {
  if (status == Gemma4Arguments::Status::kMore) return;
  const std::string remaining(rest);
  if (status == Gemma4Arguments::Status::kBroken) {
    events.break_off_call();
    broken_markup_ = true;
    begin_content({false, false, false});
    return text(remaining, events);
  }
  events.arguments("}");
  broken_markup_ = !events.end_call();
  state_ = State::kAfterCall;
  held_.clear();
  text(remaining, events);
}

void Gemma4Output::read_after_call(std::string_view text, EventWriter& events) {
  held_ += text;
  if (is_blank(held_)) return;
  std::string name;
  std::size_t end = 0;
  const Match match = match_head(held_, Opener::kCallWord, name, end);
  if (match == Match::kMaybe) return;
  const std::string held = std::exchange(held_, {});
  if (match == Match::kYes) {
    events.markup(std::string_view(held).substr(0, end));
    return start_call(name, held[end - 1], std::string_view(held).substr(end), events);
  }
  begin_content({true, false, false});
  read_content(held, events);
}

void Gemma4Output::end_reasoning(EventWriter& events) {
  // A channel that closes within its first words held only a name.
  if (state_ == State::kChannelName && !is_blank(held_) && held_ != "thought") events.reasoning(held_);
  held_.clear();
  newline_held_ = false;
}

void Gemma4Output::open_tool_call(std::string_view spelling, EventWriter& events) {
  state_ = State::kToolHead;
  held_.clear();
  events.markup(spelling);
}

// Markup that a marker cuts short.
void Gemma4Output::leave_tool_markup(EventWriter& events) {
  if (state_ == State::kToolHead) events.markup(std::exchange(held_, {}));
  if (state_ == State::kToolHead || state_ == State::kArguments) events.break_off_call();
  if (state_ == State::kContent && beginning_.undecided && !is_blank(held_)) flush_content(events);
  if (state_ == State::kAfterCall && !is_blank(held_)) events.content(held_);
  if (state_ == State::kReasoning || state_ == State::kChannelName) end_reasoning(events);
  held_.clear();
}

void Gemma4Output::literal_marker(std::string_view spelling, EventWriter& events) {
  if (state_ == State::kChannelName)
    read_channel_name(spelling, events);
  else
    text(spelling, events);
}

void Gemma4Output::marker(Marker marker, std::string_view spelling, EventWriter& events) {
  if (state_ == State::kEnded) return;
  const bool in_quotes = state_ == State::kArguments && arguments_.in_quotes();
  switch (marker) {
    case Marker::kQuote:
      if (state_ != State::kArguments) return literal_marker(spelling, events);
      {
        std::string json;
        events.markup(spelling);
        const Gemma4Arguments::Status status = arguments_.quote(json);
        if (!json.empty()) events.arguments(json);
        return settle_arguments(status, {}, events);
      }
    case Marker::kChannel:
      if (in_quotes) return text(spelling, events);
      if (state_ == State::kReasoning || state_ == State::kChannelName) return;
      leave_tool_markup(events);
      state_ = State::kChannelName;
      return;
    case Marker::kChannelEnd:
      if (in_quotes) return text(spelling, events);
      if (state_ == State::kContent) return;
      leave_tool_markup(events);
      return begin_content({true, true, false});
    case Marker::kToolCall:
      if (!events.tools().any()) return literal_marker(spelling, events);
      leave_tool_markup(events);
      return open_tool_call(spelling, events);
    case Marker::kToolCallEnd:
      if (!events.tools().any()) return literal_marker(spelling, events);
      if (state_ == State::kAfterCall && is_blank(held_)) {
        begin_content({true, false, false});
        if (!std::exchange(broken_markup_, false)) return;
        return text(spelling, events);
      }
      if (state_ == State::kToolHead || state_ == State::kArguments) {
        events.markup(std::exchange(held_, {}));
        events.markup(spelling);
        events.break_off_call();
        return begin_content({false, false, false});
      }
      if (std::exchange(broken_markup_, false)) literal_marker(spelling, events);
      return;
    case Marker::kStop:
      finish(events);
      state_ = State::kEnded;
      return;
  }
}

void Gemma4Output::finish(EventWriter& events) {
  if (state_ == State::kContent && beginning_.undecided && events.calls() == 0) flush_content(events);
  if (state_ == State::kReasoning && std::exchange(newline_held_, false)) events.reasoning("\n");
  leave_tool_markup(events);
  state_ = State::kEnded;
}

}  // namespace lanner::text
