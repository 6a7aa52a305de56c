// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace lanner::text::jinja {

/// Puts text together and keeps track of which bytes come from literal text (what users wrote).
class TextBuilder {
 public:
  void append(std::string_view plain) { bytes_ += plain; }
  void append_literal(std::string_view literal);
  /// Appends a text value with its literal spans.
  void append(const Value& text);

  size_t size() const { return bytes_.size(); }
  std::string take_bytes() { return std::move(bytes_); }
  LiteralSpans take_literal() { return std::move(literal_); }
  Value take() { return Value::text(std::move(bytes_), std::move(literal_)); }

 private:
  void mark(size_t begin, size_t end);

  std::string bytes_;
  LiteralSpans literal_;
};

}  // namespace lanner::text::jinja
