// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/output_parser_schema.h"

namespace lanner::text {

/// Turns the arguments of a Gemma 4 tool call into JSON as they arrive:
///   {key:value,...}, value = quote text quote | {...} | [...] | bare text up to the next , } ]
/// where quote is the token <|"|>, told apart by its id. Keys may be quoted, the outer braces may be
/// parentheses, JSON strings are accepted. Of duplicate keys the first counts.
class Gemma4Arguments {
 public:
  enum class Status { kMore, kDone, kBroken };

  /// Whether the bare key is read as itself.
  static bool carries_key(std::string_view key);

  Gemma4Arguments() = default;
  /// `close` is what ends the arguments: '}' or ')'. The opening one has been read.
  Gemma4Arguments(ValueSchema schema, char close);

  /// Reads from the front of `text` and removes what it used. JSON that is certain is appended to `json`.
  Status read(std::string_view& text, std::string& json);
  /// The quote token.
  Status quote(std::string& json);
  bool in_quotes() const { return state_ == State::kQuotedKey || state_ == State::kQuotedValue; }

 private:
  enum class State {
    kKeyStart,
    kKey,
    kQuotedKey,
    kJsonKey,
    kAfterKey,
    kValueStart,
    kQuotedValue,
    kJsonValue,
    kBare,
    kAfterValue
  };

  struct Container {
    bool is_object = true;
    char close = '}';
    ValueSchema schema;
    bool empty = true;
    std::set<std::string> keys;
  };

  static constexpr std::size_t kMaxDepth = 64;

  Status read_character(char c, std::string& json);
  Status read_key_start(char c, std::string& json);
  Status read_key(char c, std::string& json);
  Status read_value_start(char c, std::string& json);
  Status read_after_value(char c, std::string& json);
  bool read_json_string(char c);
  Status open(bool is_object, std::string& json);
  Status close(std::string& json);
  void end_key(std::string_view key, std::string& json);
  void begin_value(std::string& json);
  void end_value();
  void end_text_value(std::string& json);
  std::size_t read_quoted(std::string_view text, std::string& json);
  /// Quoted text is a string unless the schema wants something else.
  bool streams_text() const {
    return value_schema_.types() == 0 || (value_schema_.types() & ValueSchema::kString) != 0;
  }
  void put(std::string_view piece, std::string& json) const {
    if (muted_at_ == 0) json += piece;
  }

  std::vector<Container> open_;
  State state_ = State::kKeyStart;
  ValueSchema value_schema_;
  std::string text_;          ///< The key or value being read.
  bool escaped_ = false;      ///< After a backslash in a JSON string.
  std::size_t muted_at_ = 0;  ///< Depth at which a duplicate key's value is being skipped; 0 for none.
};

}  // namespace lanner::text
