// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/fault.h"
#include "text/jinja/number_text.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

std::string json_float(double value) {
  if (std::isfinite(value)) return float_text(value);
  return std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, size_t max_bytes) : style_(style), max_bytes_(max_bytes) {}

  void write(const Value& value, int level) {
    switch (value.kind()) {
      case Kind::kNone:
        return put("null");
      case Kind::kBool:
        return put(value.as_bool() ? "true" : "false");
      case Kind::kInt:
        return put(int_text(value.as_int()));
      case Kind::kFloat:
        return put(json_float(value.as_double()));
      case Kind::kText:
        return write_text(value.as_text());
      case Kind::kList:
      case Kind::kTuple:
        return write_list(value.items(), level);
      case Kind::kDict:
        return write_dict(value.as_dict(), level);
      default:
        throw Fault(FaultKind::kType, "Object of type " + value.type_name() + " is not JSON serializable");
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void put(std::string_view text) {
    if (out_.size() + text.size() > max_bytes_)
      throw Fault(FaultKind::kLimit, fmt::format("text grows beyond {} bytes", max_bytes_));
    out_ += text;
  }

  void new_line(int level) {
    if (!style_.indent) return;
    put("\n");
    for (int i = 0; i < level; ++i) put(*style_.indent);
  }

  void write_text(std::string_view text) {
    std::string quoted = "\"";
    for (size_t position = 0; position < text.size();) {
      const size_t start = position;
      const char32_t c = next_code_point(text, position);
      append_escaped(quoted, c, text.substr(start, position - start));
    }
    put(quoted + "\"");
  }

  void append_escaped(std::string& out, char32_t c, std::string_view bytes) const {
    const auto code = static_cast<std::uint32_t>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        return;
      case '\\':
        out += "\\\\";
        return;
      case '\n':
        out += "\\n";
        return;
      case '\r':
        out += "\\r";
        return;
      case '\t':
        out += "\\t";
        return;
      case '\f':
        out += "\\f";
        return;
      case '\b':
        out += "\\b";
        return;
      default:
        break;
    }
    const bool escape = c < 0x20 || (c > 0x7F && style_.escape_non_ascii);
    if (!escape) {
      out += bytes;
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }

  void write_list(const std::vector<Value>& items, int level) {
    if (items.empty()) return put("[]");
    put("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) put(style_.item_separator);
      new_line(level + 1);
      write(items[i], level + 1);
    }
    new_line(level);
    put("]");
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kText:
        return write_text(key.as_text());
      case Kind::kNone:
        return put("\"null\"");
      case Kind::kBool:
        return put(key.as_bool() ? "\"true\"" : "\"false\"");
      case Kind::kInt:
        return put("\"" + int_text(key.as_int()) + "\"");
      case Kind::kFloat:
        return put("\"" + json_float(key.as_double()) + "\"");
      default:
        throw Fault(FaultKind::kType, "keys must be str, int, float, bool or None, not " + key.type_name());
    }
  }

  void write_dict(const Dict& dict, int level) {
    if (dict.size() == 0) return put("{}");
    std::vector<Dict::Entry> entries = dict.entries();
    if (style_.sort_keys)
      std::stable_sort(entries.begin(), entries.end(),
                       [](const Dict::Entry& a, const Dict::Entry& b) { return less(a.first, b.first); });
    put("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) put(style_.item_separator);
      new_line(level + 1);
      write_key(entries[i].first);
      put(style_.key_separator);
      write(entries[i].second, level + 1);
    }
    new_line(level);
    put("}");
  }

  const JsonStyle& style_;
  size_t max_bytes_;
  std::string out_;
};

}  // namespace

std::string json_text(const Value& value, const JsonStyle& style, size_t max_bytes) {
  JsonWriter writer(style, max_bytes);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace lanner::text::jinja
