// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/work.h"

namespace lanner::text::grammar {

using OrderedJson = nlohmann::ordered_json;

/// A schema with its limits checked, its references and the places of its parts for messages.
class SchemaDocument {
 public:
  /// Throws GrammarLimit for schemas over the limits. All must outlive it; reading it counts as `work`.
  SchemaDocument(const OrderedJson& root, const JsonSchemaOptions& options,
                 std::vector<std::string>* warnings, Work& work);

  const OrderedJson& root() const { return root_; }
  const JsonSchemaOptions& options() const { return options_; }
  Work& work() const { return work_; }
  /// What "$ref" of `schema` refers to.
  const OrderedJson& resolve(const OrderedJson& schema) const;

  /// The keyword's value, or nullptr. Throws unless it has the type.
  const OrderedJson* find(const OrderedJson& schema, const char* keyword) const;
  const OrderedJson* find_array(const OrderedJson& schema, const char* keyword) const;
  const OrderedJson* find_object(const OrderedJson& schema, const char* keyword) const;
  const std::string* find_string(const OrderedJson& schema, const char* keyword) const;
  /// A count; above 10^5 it is kUnsupported for minima, and no bound for maxima.
  std::optional<std::uint32_t> find_minimum_count(const OrderedJson& schema, const char* keyword) const;
  std::optional<std::uint32_t> find_maximum_count(const OrderedJson& schema, const char* keyword) const;

  /// `schema#/properties/a` for a part of the document.
  std::string place(const OrderedJson& part) const;
  std::string place(const OrderedJson& schema, std::string_view keyword) const;
  [[noreturn]] void fail(const OrderedJson& schema, std::string_view keyword, std::string_view complaint,
                         ErrorKind kind = ErrorKind::kInvalidArgument) const;
  /// For what is not enforced: an error in strict mode, else a warning.
  void not_enforced(const OrderedJson& schema, std::string_view keyword, std::string_view reason) const;

 private:
  void check(const OrderedJson& part, int depth);
  void check_strict(const OrderedJson& part) const;
  void note_anchors(const OrderedJson& part);
  std::uint64_t count(const OrderedJson& schema, const char* keyword, const OrderedJson& value) const;

  const OrderedJson& root_;
  const JsonSchemaOptions& options_;
  std::vector<std::string>* warnings_;
  Work& work_;
  std::size_t properties_ = 0, enum_values_ = 0, parts_ = 0, bytes_ = 0;
  struct Place {
    const OrderedJson* parent;
    std::size_t index;
  };
  std::unordered_map<const OrderedJson*, Place> places_;
  std::unordered_map<std::string, const OrderedJson*> anchors_;
  mutable std::unordered_map<std::string, const OrderedJson*> pointers_;  ///< Resolved ones.
};

/// A value for messages: `"abc"`, `an array`, …
std::string describe_json(const OrderedJson& value);

}  // namespace lanner::text::grammar
