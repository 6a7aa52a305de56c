// SPDX-License-Identifier: MIT
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_operations.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"
#include "text/jinja/word_wrap.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

constexpr long long kMaxIndent = 1 << 16;

// Jinja's soft_str: text stays what it is, everything else becomes str(value).
Value soft_text(Runtime& runtime, const Value& value) {
  return value.is_text() ? value : runtime.make_text(runtime.text(value));
}

template <std::string (*kMap)(std::string_view)>
Value mapped(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("filter", arguments, {}, 0);
  const Value text = soft_text(runtime, value);
  runtime.admit_text(text.as_text().size());
  return Value::text_like(text, kMap(text.as_text()));
}

// Words start after blanks, hyphens and opening brackets; unlike str.title, apostrophes do not start one.
std::string title_words(std::string_view text) {
  std::string out, word;
  const auto flush = [&] {
    const std::string_view first = code_point_range(word, 0, 1);
    out += to_upper(first) + to_lower(std::string_view(word).substr(first.size()));
    word.clear();
  };
  bool in_separator = false;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = next_code_point(text, at);
    const bool separates = c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
    if (separates != in_separator) flush();
    in_separator = separates;
    word += text.substr(start, at - start);
  }
  flush();
  return out;
}

Value title(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("title", arguments, {}, 0);
  return runtime.make_text(title_words(soft_text(runtime, value).as_text()));
}

Value center(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("center", arguments, {"width"}, 0);
  const Value text = soft_text(runtime, value);
  return Value::text_like(text, center_text(runtime, text.as_text(), bound.small_integer(0, 80), " "));
}

Value trim(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("trim", arguments, {"chars"}, 0);
  const Value text = soft_text(runtime, value);
  runtime.admit_text(text.as_text().size());
  const std::string_view set =
      bound.is_none_or_absent(0) ? std::string_view() : std::string_view(bound.text(0));
  return text.subtext(strip(text.as_text(), set));
}

Value replace(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("replace", arguments, {"old", "new", "count"}, 2);
  const long long count = bound.is_none_or_absent(2) ? -1 : bound.small_integer(2, -1);
  return Value::text(
      replace_text(runtime, runtime.text(value), runtime.text(bound[0]), runtime.text(bound[1]), count));
}

Value format(Runtime& runtime, const Value& value, Arguments arguments) {
  if (!arguments.positional.empty() && !arguments.keyword.empty())
    throw Fault(FaultKind::kType, "can't handle positional and keyword arguments at the same time");
  const Value text = soft_text(runtime, value);
  if (arguments.keyword.empty())
    return Value::text_like(text, percent_format(runtime, text, Value::tuple(arguments.positional)));
  Dict named;
  for (const auto& [name, argument] : arguments.keyword) named.set(Value::text(name), argument);
  return Value::text_like(text, percent_format(runtime, text, Value::dict(std::move(named))));
}

Value string(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("string", arguments, {}, 0);
  return soft_text(runtime, value);
}

std::string indentation(const BoundArguments& bound) {
  if (bound.has(0) && bound[0].is_text()) return bound[0].as_text();
  const long long width = bound.small_integer(0, 4);
  if (width > kMaxIndent) throw Fault(FaultKind::kLimit, "indent width is too large");
  return std::string(static_cast<size_t>(std::max(width, 0LL)), ' ');
}

Value indent(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("indent", arguments, {"width", "first", "blank"}, 0);
  if (value.is_undefined()) throw_undefined(value);
  if (!value.is_text())
    throw Fault(FaultKind::kType,
                "unsupported operand type(s) for +=: '" + value.type_name() + "' and 'str'");
  const std::string margin = indentation(bound);
  const bool blank = bound.truthy(2, false);
  const std::string text = value.as_text() + "\n";
  std::string out = bound.truthy(1, false) ? margin : "";
  bool first = true;
  for (std::string_view line : split_lines(text)) {
    if (!first) {
      out += "\n";
      if (blank || !line.empty()) out += margin;
    }
    out += line;
    first = false;
    if (out.size() > text.size()) runtime.admit_text(out.size() - text.size());
  }
  runtime.admit_text(out.size());
  return Value::text_like(value, std::move(out));
}

Value truncate(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("truncate", arguments, {"length", "killwords", "end", "leeway"}, 0);
  const long long length = bound.small_integer(0, 255);
  const std::string end = bound.has(2) ? bound.text(2) : "...";
  const long long leeway = bound.is_none_or_absent(3) ? 5 : bound.small_integer(3, 5);
  const long long end_length = static_cast<long long>(code_point_count(end));
  if (length < end_length)
    throw Fault(FaultKind::kValue,
                "expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length));
  if (leeway < 0) throw Fault(FaultKind::kValue, "expected leeway >= 0, got " + std::to_string(leeway));
  const std::optional<size_t> size = length_of(value);
  if (!size) throw Fault(FaultKind::kType, "object of type '" + value.type_name() + "' has no len()");
  if (static_cast<long long>(*size) <= length + leeway) return value;
  if (!value.is_text()) throw Fault(FaultKind::kType, "truncate needs text, not " + value.type_name());
  runtime.admit_text(value.as_text().size());
  std::string_view kept = code_point_range(value.as_text(), 0, static_cast<size_t>(length - end_length));
  if (!bound.truthy(1, false)) kept = split_from_right(kept, " ", 1)[0];
  return Value::text_like(value, std::string(kept) + end);
}

Value word_count(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("wordcount", arguments, {}, 0);
  Int words = 0;
  bool inside = false;
  for (char32_t c : decode_utf8(soft_text(runtime, value).as_text())) {
    const bool word = c == '_' || is_alphabetic(c) || is_numeric(c);
    if (word && !inside) ++words;
    inside = word;
  }
  return Value::integer(words);
}

Value word_wrap(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("wordwrap", arguments,
                             {"width", "break_long_words", "wrapstring", "break_on_hyphens"}, 0);
  if (value.is_undefined()) throw_undefined(value);
  if (!value.is_text()) throw Fault(FaultKind::kType, "wordwrap needs text, not " + value.type_name());
  const WrapOptions options{bound.small_integer(0, 79),
                            bound.truthy(1, true) ? LongWords::kBreak : LongWords::kKeep,
                            bound.truthy(3, true) ? Hyphens::kBreakAfter : Hyphens::kKeep};
  if (options.width <= 0)
    throw Fault(FaultKind::kValue, "invalid width " + std::to_string(options.width) + " (must be > 0)");
  const std::string separator = bound.is_none_or_absent(2) ? "\n" : bound.text(2);
  std::string out;
  bool first = true;
  for (std::string_view line : split_lines(value.as_text())) {
    if (!first) out += separator;
    first = false;
    bool first_part = true;
    for (const std::string& part : wrap_line(line, options)) {
      if (!first_part) out += separator;
      first_part = false;
      out += part;
    }
    runtime.admit_text(out.size());
  }
  return Value::text(std::move(out));
}

JsonStyle json_style(Runtime& runtime, const BoundArguments& bound) {
  JsonStyle style;
  style.escape_non_ascii = bound.truthy(0, false);
  if (!bound.is_none_or_absent(1)) {
    style.indent = indentation(BoundArguments("tojson", {{bound[1]}, {}}, {"indent"}, 0));
    style.item_separator = ",";
  }
  if (!bound.is_none_or_absent(2)) {
    const std::vector<Value> separators = collect(runtime, bound[2]);
    if (separators.size() != 2 || !separators[0].is_text() || !separators[1].is_text())
      throw Fault(FaultKind::kValue, "tojson: separators must be two strings");
    style.item_separator = separators[0].as_text();
    style.key_separator = separators[1].as_text();
  }
  style.sort_keys = bound.truthy(3, false);
  return style;
}

// As transformers defines it for chat templates: json.dumps without HTML escaping.
Value to_json(Runtime& runtime, const Value& value, Arguments arguments) {
  const BoundArguments bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0);
  runtime.spend_walk(value);
  return runtime.make_text(json_text(value, json_style(runtime, bound), runtime.limits().max_text_bytes));
}

const std::unordered_map<std::string_view, Filter>& text_table() {
  static const std::unordered_map<std::string_view, Filter> kTable = {
      {"capitalize", mapped<to_capitalized>},
      {"center", center},
      {"format", format},
      {"indent", indent},
      {"lower", mapped<to_lower>},
      {"replace", replace},
      {"string", string},
      {"title", title},
      {"tojson", to_json},
      {"trim", trim},
      {"truncate", truncate},
      {"upper", mapped<to_upper>},
      {"wordcount", word_count},
      {"wordwrap", word_wrap},
  };
  return kTable;
}

}  // namespace

Filter find_text_filter(std::string_view name) {
  const auto at = text_table().find(name);
  return at == text_table().end() ? nullptr : at->second;
}

}  // namespace lanner::text::jinja
