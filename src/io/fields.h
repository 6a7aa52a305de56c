// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "io/json.h"

namespace lanner::io {

/// Inclusive bounds of an integer field.
struct IntRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
inline constexpr IntRange kPositive{.min = 1};
inline constexpr IntRange kNotNegative{.min = 0};

/// Inclusive bounds of a number field.
struct NumberRange {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
};
inline constexpr NumberRange kAboveZero{.min = std::numeric_limits<double>::denorm_min()};

/// Typed reader of one JSON object, such as config.json or a section of it. A field that is null counts as
/// absent. Every error is kCorrupt and reads
///   config.json: text_config.hidden_size is "abc" (string), expected an integer >= 1
/// For each type: required_x() throws when absent, optional_x() takes a fallback, find_x() gives
/// std::nullopt; all three throw on a wrong type or a value out of range. Integers may be spelled 1e3 or 8.0.
/// Does not own the JSON, which must outlive it.
class Fields {
 public:
  /// `source` names the file and `path` the object within it ("" for the document itself, "text_config").
  Fields(const Json& object, std::string source, std::string path = {});
  Fields(Json&& object, std::string source, std::string path = {}) = delete;

  const Json& json() const { return *object_; }
  const std::string& source() const { return source_; }
  /// The field's full name within the file: "text_config.hidden_size".
  std::string name_of(std::string_view key) const;
  /// The value, or nullptr when absent or null.
  const Json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Every key of the object, sorted, with those whose value is null.
  std::vector<std::string> keys() const;

  std::int64_t required_int(std::string_view key, IntRange range = {}) const;
  std::int64_t optional_int(std::string_view key, std::int64_t fallback, IntRange range = {}) const;
  std::optional<std::int64_t> find_int(std::string_view key, IntRange range = {}) const;

  double required_number(std::string_view key, NumberRange range = {}) const;
  double optional_number(std::string_view key, double fallback, NumberRange range = {}) const;
  std::optional<double> find_number(std::string_view key, NumberRange range = {}) const;

  bool required_bool(std::string_view key) const;
  bool optional_bool(std::string_view key, bool fallback) const;
  std::optional<bool> find_bool(std::string_view key) const;

  std::string required_string(std::string_view key) const;
  std::string optional_string(std::string_view key, std::string_view fallback) const;
  std::optional<std::string> find_string(std::string_view key) const;

  std::vector<std::int64_t> required_ints(std::string_view key, IntRange range = {}) const;
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key, IntRange range = {}) const;
  /// As find_ints(), but a single integer is taken for a list of one (eos_token_id has both spellings).
  std::optional<std::vector<std::int64_t>> find_int_or_ints(std::string_view key, IntRange range = {}) const;
  std::vector<double> required_numbers(std::string_view key, NumberRange range = {}) const;
  std::optional<std::vector<double>> find_numbers(std::string_view key, NumberRange range = {}) const;
  std::vector<std::string> required_strings(std::string_view key) const;
  std::optional<std::vector<std::string>> find_strings(std::string_view key) const;

  Fields required_object(std::string_view key) const;
  std::optional<Fields> find_object(std::string_view key) const;
  std::vector<Fields> required_objects(std::string_view key) const;

  /// The error for a field whose value the caller cannot use; `expected` reads on after "expected ".
  Error unexpected(std::string_view key, std::string_view expected) const;

 private:
  const Json* object_;
  std::string source_;
  std::string path_;
};

/// A value for messages: `"abc" (string)`, `1.5 (number)`, `an array of 3 values`, `an object`, `null`.
std::string describe(const Json& value);

}  // namespace lanner::io
