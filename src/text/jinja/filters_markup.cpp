// SPDX-License-Identifier: MIT
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

Value escape(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("escape", arguments, {}, 0);
  return Value::safe_text(escape_html(runtime, value));
}

Value force_escape(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("forceescape", arguments, {}, 0);
  return Value::safe_text(escape_html(runtime.text(value)));
}

Value safe(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("safe", arguments, {}, 0);
  return Value::safe_text(runtime.text(value));
}

// Removes everything from `open` to the next `close`, for all pairs.
std::string without(std::string_view text, std::string_view open, std::string_view close) {
  std::string out;
  while (true) {
    const size_t start = text.find(open);
    const size_t end = start == std::string_view::npos ? start : text.find(close, start);
    if (end == std::string_view::npos) return out + std::string(text);
    out += text.substr(0, start);
    text.remove_prefix(end + close.size());
  }
}

std::string entity_text(std::string_view name) {
  static const std::unordered_map<std::string_view, std::string_view> kEntities = {
      {"amp", "&"},        {"lt", "<"},         {"gt", ">"},         {"quot", "\""},
      {"apos", "'"},       {"nbsp", "\u00a0"},  {"copy", "\u00a9"},  {"hellip", "\u2026"},
      {"mdash", "\u2014"}, {"ndash", "\u2013"}, {"raquo", "\u00bb"}, {"laquo", "\u00ab"}};
  if (name.size() > 1 && name[0] == '#') {
    const bool hex = name[1] == 'x' || name[1] == 'X';
    const std::optional<Int> code = parse_int(name.substr(hex ? 2 : 1), hex ? 16 : 10);
    std::string out;
    if (code && *code > 0 && *code < 0x110000) append_utf8(out, static_cast<char32_t>(*code));
    return out;
  }
  const auto at = kEntities.find(name);
  return at == kEntities.end() ? std::string() : std::string(at->second);
}

std::string unescape_html(std::string_view text) {
  constexpr size_t kLongestEntity = 32;
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end =
        text[at] == '&' ? text.substr(0, at + kLongestEntity).find(';', at) : std::string_view::npos;
    const std::string replacement =
        end == std::string_view::npos ? "" : entity_text(text.substr(at + 1, end - at - 1));
    if (replacement.empty()) {
      out += text[at];
    } else {
      out += replacement;
      at = end;
    }
  }
  return out;
}

Value strip_tags(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("striptags", arguments, {}, 0);
  const std::string text = without(without(runtime.text(value), "<!--", "-->"), "<", ">");
  std::string collapsed;
  for (std::string_view word : split(text, {}, -1))
    collapsed += (collapsed.empty() ? "" : " ") + std::string(word);
  return runtime.make_text(unescape_html(collapsed));
}

enum class UrlPart { kPath, kQuery };

std::string quote_url(std::string_view text, UrlPart part) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte < 0x80 && (is_alphabetic(byte) || is_decimal(byte))) ||
                       std::string_view("_.-~").find(c) != std::string_view::npos ||
                       (c == '/' && part == UrlPart::kPath);
    if (plain)
      out += c;
    else if (c == ' ' && part == UrlPart::kQuery)
      out += '+';
    else
      (out += '%') += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

Value url_encode(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("urlencode", arguments, {}, 0);
  if (value.is_text() || !is_iterable(value))
    return runtime.make_text(quote_url(runtime.text(value), UrlPart::kPath));
  std::string out;
  const Value pairs =
      value.is(Kind::kDict) ? Value::object(std::make_shared<DictView>(value, DictPart::kItems)) : value;
  for (const Value& pair : collect(runtime, pairs)) {
    const std::vector<Value> parts = collect(runtime, pair);
    if (parts.size() != 2) throw Fault(FaultKind::kValue, "urlencode needs (key, value) pairs");
    if (!out.empty()) out += '&';
    out += quote_url(runtime.text(parts[0]), UrlPart::kQuery) + "=" +
           quote_url(runtime.text(parts[1]), UrlPart::kQuery);
    runtime.admit_text(out.size());
  }
  return Value::text(std::move(out));
}

Value xml_attributes(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("xmlattr", arguments, {"autospace"}, 0);
  if (value.is_undefined()) throw_undefined(value);
  if (!value.is(Kind::kDict))
    throw Fault(FaultKind::kType, "xmlattr needs a mapping, not " + value.type_name());
  std::string out;
  for (const auto& [key, item] : value.as_dict().entries()) {
    if (item.is_none() || item.is_undefined()) continue;
    if (!key.is_text()) throw Fault(FaultKind::kType, "expected string or bytes-like object");
    if (key.as_text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      throw Fault(FaultKind::kValue, "Invalid character in attribute name: " + quoted_repr(key.as_text()));
    if (!out.empty()) out += " ";
    out += escape_html(runtime, key) + "=\"" + escape_html(runtime, item) + "\"";
    runtime.admit_text(out.size());
  }
  if (bound.truthy(0, true) && !out.empty()) out.insert(0, " ");
  return Value::text(std::move(out));
}

const std::unordered_map<std::string_view, Filter>& markup_table() {
  static const std::unordered_map<std::string_view, Filter> kTable = {
      {"e", escape},
      {"escape", escape},
      {"forceescape", force_escape},
      {"safe", safe},
      {"striptags", strip_tags},
      {"urlencode", url_encode},
      {"xmlattr", xml_attributes},
  };
  return kTable;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_html(Runtime& runtime, const Value& value) {
  std::string text = runtime.text(value);
  if (!value.is_safe_text()) text = escape_html(text);
  runtime.admit_text(text.size());
  return text;
}

Filter find_markup_filter(std::string_view name) {
  const auto at = markup_table().find(name);
  return at == markup_table().end() ? nullptr : at->second;
}

}  // namespace lanner::text::jinja
