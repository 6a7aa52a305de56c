// SPDX-License-Identifier: MIT
#include "text/jinja/value_text.h"

#include <fmt/format.h>

#include "text/jinja/fault.h"
#include "text/jinja/number_text.h"
#include "text/jinja/unicode.h"

namespace lanner::text::jinja {
namespace {

class ReprWriter {
 public:
  explicit ReprWriter(size_t max_bytes) : max_bytes_(max_bytes) {}

  void write(const Value& value) {
    switch (value.kind()) {
      case Kind::kMissing:
        return put("missing");
      case Kind::kUndefined:
        return put("Undefined");
      case Kind::kNone:
        return put("None");
      case Kind::kBool:
        return put(value.as_bool() ? "True" : "False");
      case Kind::kInt:
        return put(int_text(value.as_int()));
      case Kind::kFloat:
        return put(float_text(value.as_double()));
      case Kind::kText:
        return write_text(value);
      case Kind::kList:
        return write_items(value.items(), "[", "]");
      case Kind::kTuple:
        return write_items(value.items(), "(", value.items().size() == 1 ? ",)" : ")");
      case Kind::kDict:
        return write_dict(value.as_dict());
      case Kind::kObject:
        return put(value.as_object()->repr());
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void put(std::string_view text) {
    if (out_.size() + text.size() > max_bytes_)
      throw Fault(FaultKind::kLimit, fmt::format("text grows beyond {} bytes", max_bytes_));
    out_ += text;
  }

  void write_text(const Value& value) {
    if (value.is_safe_text()) put("Markup(");
    put(quoted_repr(value.as_text()));
    if (value.is_safe_text()) put(")");
  }

  void write_items(const std::vector<Value>& items, std::string_view open, std::string_view close) {
    put(open);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) put(", ");
      write(items[i]);
    }
    put(close);
  }

  void write_dict(const Dict& dict) {
    put("{");
    bool first = true;
    for (const auto& [key, item] : dict.entries()) {
      if (!first) put(", ");
      first = false;
      write(key);
      put(": ");
      write(item);
    }
    put("}");
  }

  std::string out_;
  size_t max_bytes_;
};

std::string escaped(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  const auto code = static_cast<std::uint32_t>(c);
  if (c < 0x100) return fmt::format("\\x{:02x}", code);
  return c < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

}  // namespace

void throw_undefined(const Value& value) {
  const Undefined& undefined = value.as_undefined();
  throw Fault(undefined.forbidden ? FaultKind::kSecurity : FaultKind::kUndefined, undefined.message);
}

std::string quoted_repr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t position = 0; position < text.size();) {
    const size_t start = position;
    const char32_t c = next_code_point(text, position);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (is_printable(c)) {
      out += text.substr(start, position - start);
    } else {
      out += escaped(c);
    }
  }
  return out + quote;
}

std::string repr_of(const Value& value, size_t max_bytes) {
  ReprWriter writer(max_bytes);
  writer.write(value);
  return writer.take();
}

std::string text_of(const Value& value, size_t max_bytes) {
  if (value.is_text()) return value.as_text();
  if (value.is_undefined() || value.is_missing()) return {};
  return repr_of(value, max_bytes);
}

}  // namespace lanner::text::jinja
