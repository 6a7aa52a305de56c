// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"
#include "server/json_body.h"

namespace lanner::server {

struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct NumberRange {
  double low = 0;
  double high = 0;
};

/// Reads fields of a JSON object by type. A field that is null is absent; one of a wrong type or outside its
/// range is a RequestError (400, `invalid_type` or `invalid_value`) whose param is the field's path,
/// "messages[1].role".
class JsonFields {
 public:
  /// `path`: where the object is in the request; empty for the body. The object must outlive it.
  explicit JsonFields(const Json& object, std::string path = {});

  std::string path(std::string_view name) const;
  /// The value, or nullptr when it is absent or null.
  const Json* find(std::string_view name) const;
  /// The value; RequestError `missing_field` when it is absent or null.
  const Json& require(std::string_view name) const;

  std::optional<bool> boolean(std::string_view name) const;
  bool flag(std::string_view name) const { return boolean(name).value_or(false); }
  std::optional<std::int64_t> integer(std::string_view name, IntegerRange range) const;
  std::optional<double> number(std::string_view name, NumberRange range) const;
  std::optional<std::string> string(std::string_view name) const;
  std::string require_string(std::string_view name) const;
  const Json* object(std::string_view name) const;
  const Json* array(std::string_view name) const;
  /// One of `allowed`.
  std::optional<std::string> one_of(std::string_view name, const std::vector<std::string>& allowed) const;
  std::optional<std::vector<TokenId>> token_ids(std::string_view name, std::size_t vocabulary) const;

  /// RequestError for a field that nobody asked for.
  void refuse_unknown() const;

 private:
  const Json* object_;
  std::string path_;
  mutable std::set<std::string, std::less<>> asked_;
};

/// RequestError `invalid_type`: "temperature must be a number, found a string".
[[noreturn]] void refuse_type(std::string_view param, std::string_view expected, const Json& found);
/// Token ids of a JSON array. Throws RequestError.
std::vector<TokenId> read_token_ids(const Json& array, std::string_view param, std::size_t vocabulary);

}  // namespace lanner::server
