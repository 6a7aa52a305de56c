// SPDX-License-Identifier: MIT
#include "text/gemma4_output_arguments.h"

#include <utility>

#include "text/bounded_json.h"
#include "text/markup_blanks.h"

namespace lanner::text {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

bool Gemma4Arguments::carries_key(std::string_view key) {
  return !key.empty() && trimmed(key) == key && key.front() != '"' &&
         key.find_first_of(",:{}") == std::string_view::npos;
}

Gemma4Arguments::Gemma4Arguments(ValueSchema schema, char close) {
  open_.push_back({true, close, std::move(schema), true, {}});
}

Gemma4Arguments::Status Gemma4Arguments::read(std::string_view& text, std::string& json) {
  while (!text.empty()) {
    if (state_ == State::kQuotedValue) {
      text.remove_prefix(read_quoted(text, json));
      continue;
    }
    const char c = text.front();
    text.remove_prefix(1);
    if (const Status status = read_character(c, json); status != Status::kMore) return status;
  }
  return Status::kMore;
}

// Text between quote tokens has no escapes, so all of it is read at once.
std::size_t Gemma4Arguments::read_quoted(std::string_view text, std::string& json) {
  if (streams_text())
    put(json_escaped(text), json);
  else
    text_ += text;
  return text.size();
}

Gemma4Arguments::Status Gemma4Arguments::read_character(char c, std::string& json) {
  switch (state_) {
    case State::kKeyStart:
      return read_key_start(c, json);
    case State::kKey:
      return read_key(c, json);
    case State::kQuotedKey:
      text_ += c;
      return Status::kMore;
    case State::kJsonKey:
      if (read_json_string(c)) {
        const auto key = parse_bounded_json(text_);
        if (!key || !key->is_string()) return Status::kBroken;
        end_key(key->get<std::string>(), json);
        state_ = State::kAfterKey;
      }
      return Status::kMore;
    case State::kAfterKey:
      if (c == ':') state_ = State::kValueStart;
      return c == ':' || is_blank(c) ? Status::kMore : Status::kBroken;
    case State::kValueStart:
      return read_value_start(c, json);
    case State::kJsonValue:
      if (read_json_string(c)) {
        const bool valid = is_json(text_);
        put(valid ? text_ : json_string(text_), json);
        end_value();
      }
      return Status::kMore;
    case State::kBare:
      if (c == ',' || c == open_.back().close) {
        end_text_value(json);
        return read_after_value(c, json);
      }
      text_ += c;
      return Status::kMore;
    case State::kAfterValue:
      return read_after_value(c, json);
    default:
      return Status::kBroken;
  }
}

Gemma4Arguments::Status Gemma4Arguments::read_key_start(char c, std::string& json) {
  if (is_blank(c)) return Status::kMore;
  if (c == open_.back().close) return close(json);
  if (c == ',' || c == ':') return Status::kBroken;
  text_ = c;
  state_ = c == '"' ? State::kJsonKey : State::kKey;
  return Status::kMore;
}

Gemma4Arguments::Status Gemma4Arguments::read_key(char c, std::string& json) {
  if (c == ',' || c == '{' || c == '}') return Status::kBroken;
  if (c != ':') {
    text_ += c;
    return Status::kMore;
  }
  const std::string key(trimmed(text_));
  end_key(key, json);
  state_ = State::kValueStart;
  return Status::kMore;
}

void Gemma4Arguments::end_key(std::string_view key, std::string& json) {
  Container& object = open_.back();
  value_schema_ = object.schema.property(key);
  if (!object.keys.emplace(key).second) {
    if (muted_at_ == 0) muted_at_ = open_.size();
    return;
  }
  if (!object.empty) put(",", json);
  object.empty = false;
  put(json_string(key) + ":", json);
}

Gemma4Arguments::Status Gemma4Arguments::read_value_start(char c, std::string& json) {
  if (is_blank(c)) return Status::kMore;
  Container& container = open_.back();
  if (!container.is_object) {
    if (c == container.close) return close(json);
    if (c == ',') return Status::kBroken;
  }
  begin_value(json);
  if (c == '{' || c == '[') return open(c == '{', json);
  text_.clear();
  if (c == '"') {
    text_ = c;
    escaped_ = false;
    state_ = State::kJsonValue;
    return Status::kMore;
  }
  state_ = State::kBare;
  return read_character(c, json);
}

// An array's comma goes before the element, when it is clear that there is one.
void Gemma4Arguments::begin_value(std::string& json) {
  Container& container = open_.back();
  if (container.is_object) return;
  if (!container.empty) put(",", json);
  container.empty = false;
  value_schema_ = container.schema.element();
}

Gemma4Arguments::Status Gemma4Arguments::open(bool is_object, std::string& json) {
  if (open_.size() >= kMaxDepth) return Status::kBroken;
  put(is_object ? "{" : "[", json);
  open_.push_back({is_object, is_object ? '}' : ']', value_schema_, true, {}});
  state_ = is_object ? State::kKeyStart : State::kValueStart;
  return Status::kMore;
}

Gemma4Arguments::Status Gemma4Arguments::close(std::string& json) {
  const bool is_object = open_.back().is_object;
  open_.pop_back();
  if (open_.empty()) return Status::kDone;
  put(is_object ? "}" : "]", json);
  end_value();
  return Status::kMore;
}

Gemma4Arguments::Status Gemma4Arguments::read_after_value(char c, std::string& json) {
  if (is_blank(c)) return Status::kMore;
  if (c == open_.back().close) return close(json);
  if (c != ',') return Status::kBroken;
  state_ = open_.back().is_object ? State::kKeyStart : State::kValueStart;
  return Status::kMore;
}

// Collects a quoted JSON string; true when it is complete.
bool Gemma4Arguments::read_json_string(char c) {
  text_ += c;
  if (escaped_) {
    escaped_ = false;
    return false;
  }
  escaped_ = c == '\\';
  return c == '"';
}

void Gemma4Arguments::end_text_value(std::string& json) {
  put(coerce_to_json(trimmed(text_), value_schema_, Untyped::kAnyLiteral), json);
  end_value();
}

void Gemma4Arguments::end_value() {
  text_.clear();
  if (muted_at_ == open_.size()) muted_at_ = 0;
  state_ = State::kAfterValue;
}

Gemma4Arguments::Status Gemma4Arguments::quote(std::string& json) {
  switch (state_) {
    case State::kKeyStart:
      text_.clear();
      state_ = State::kQuotedKey;
      return Status::kMore;
    case State::kQuotedKey: {
      const std::string key = text_;
      end_key(key, json);
      state_ = State::kAfterKey;
      return Status::kMore;
    }
    case State::kValueStart:
      begin_value(json);
      text_.clear();
      state_ = State::kQuotedValue;
      if (streams_text()) put("\"", json);
      return Status::kMore;
    case State::kQuotedValue:
      put(streams_text() ? "\"" : coerce_to_json(text_, value_schema_, Untyped::kAnyLiteral), json);
      end_value();
      return Status::kMore;
    default:
      return Status::kBroken;
  }
}

}  // namespace lanner::text
