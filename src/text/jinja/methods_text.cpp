// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_builder.h"
#include "text/jinja/text_operations.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

using Arguments = const CallArguments&;

template <std::string (*kMap)(std::string_view)>
Value mapped(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("str method", arguments, {}, 0);
  runtime.admit_text(self.as_text().size());
  return Value::text_like(self, kMap(self.as_text()));
}

template <std::string_view (*kStrip)(std::string_view, std::string_view)>
Value stripped(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("strip", arguments, {"chars"}, 0);
  runtime.admit_text(self.as_text().size());
  const std::string_view set =
      bound.is_none_or_absent(0) ? std::string_view() : std::string_view(bound.text(0));
  return self.subtext(kStrip(self.as_text(), set));
}

template <std::vector<std::string_view> (*kSplit)(std::string_view, std::string_view, long long)>
Value split_method(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("split", arguments, {"sep", "maxsplit"}, 0);
  runtime.admit_text(self.as_text().size());
  const bool whitespace = bound.is_none_or_absent(0);
  const std::string_view separator = whitespace ? std::string_view() : std::string_view(bound.text(0));
  if (!whitespace && separator.empty()) throw Fault(FaultKind::kValue, "empty separator");
  std::vector<Value> parts;
  for (std::string_view part : kSplit(self.as_text(), separator, bound.small_integer(1, -1)))
    parts.push_back(self.subtext(part));
  runtime.spend(parts.size());
  return Value::list(std::move(parts));
}

Value splitlines(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("splitlines", arguments, {"keepends"}, 0);
  runtime.admit_text(self.as_text().size());
  std::vector<Value> lines;
  for (std::string_view line :
       split_lines(self.as_text(), bound.truthy(0, false) ? LineEnds::kKeep : LineEnds::kDrop))
    lines.push_back(self.subtext(line));
  return Value::list(std::move(lines));
}

/// The code points [start, end) that the optional arguments at `first` and `first + 1` select.
struct Window {
  std::string_view text;
  long long start;
  bool valid;  ///< start was not beyond the text.
};

Window window(const Value& self, const BoundArguments& bound, size_t first) {
  const std::string& text = self.as_text();
  const long long length = static_cast<long long>(code_point_count(text));
  const auto part = [&](size_t index, long long fallback) {
    long long at = bound.is_none_or_absent(index) ? fallback : bound.small_integer(index, fallback);
    return at < 0 ? std::max(at + length, 0LL) : at;
  };
  const long long start = part(first, 0), end = std::min(part(first + 1, length), length);
  if (start > length || start > end) return {{}, start, false};
  return {code_point_range(text, static_cast<size_t>(start), static_cast<size_t>(end)), start, true};
}

enum class Side { kFirst, kLast };

template <Side kSide>
long long find_at(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("find", arguments, {"sub", "start", "end"}, 1);
  runtime.spend_walk(self);
  const std::string& needle = bound.text(0);
  const Window area = window(self, bound, 1);
  if (!area.valid) return -1;
  const size_t at = kSide == Side::kFirst ? area.text.find(needle) : area.text.rfind(needle);
  if (at == std::string_view::npos) return -1;
  return area.start + static_cast<long long>(code_point_count(area.text.substr(0, at)));
}

template <Side kSide>
Value find_method(Runtime& runtime, const Value& self, Arguments arguments) {
  return Value::integer(find_at<kSide>(runtime, self, arguments));
}

template <Side kSide>
Value index_method(Runtime& runtime, const Value& self, Arguments arguments) {
  const long long at = find_at<kSide>(runtime, self, arguments);
  if (at < 0) throw Fault(FaultKind::kValue, "substring not found");
  return Value::integer(at);
}

Value count_substring(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("count", arguments, {"sub", "start", "end"}, 1);
  runtime.spend_walk(self);
  const std::string& needle = bound.text(0);
  const Window area = window(self, bound, 1);
  if (!area.valid) return Value::integer(0);
  if (needle.empty()) return Value::integer(static_cast<Int>(code_point_count(area.text)) + 1);
  Int found = 0;
  for (size_t at = area.text.find(needle); at != std::string_view::npos;
       at = area.text.find(needle, at + needle.size()))
    ++found;
  return Value::integer(found);
}

bool has_end(std::string_view text, std::string_view part, Side side) {
  if (part.size() > text.size()) return false;
  return (side == Side::kFirst ? text.substr(0, part.size()) : text.substr(text.size() - part.size())) ==
         part;
}

template <Side kSide>
Value has_end_method(Runtime&, const Value& self, Arguments arguments) {
  const BoundArguments bound(kSide == Side::kFirst ? "startswith" : "endswith", arguments,
                             {"prefix", "start", "end"}, 1);
  const bool whole = !bound.has(1) && !bound.has(2);
  const Window area = whole ? Window{self.as_text(), 0, true} : window(self, bound, 1);
  if (!area.valid) return Value::boolean(false);
  if (!bound[0].is(Kind::kTuple)) return Value::boolean(has_end(area.text, bound.text(0), kSide));
  const auto& choices = bound[0].items();
  return Value::boolean(std::any_of(choices.begin(), choices.end(), [&](const Value& choice) {
    if (!choice.is_text())
      throw Fault(FaultKind::kType, "tuple for startswith must only contain str, not " + choice.type_name());
    return has_end(area.text, choice.as_text(), kSide);
  }));
}

template <Side kSide>
Value remove_end(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("removeprefix", arguments, {"prefix"}, 1);
  runtime.admit_text(self.as_text().size());
  std::string_view text = self.as_text();
  const std::string& part = bound.text(0);
  if (has_end(text, part, kSide))
    kSide == Side::kFirst ? text.remove_prefix(part.size()) : text.remove_suffix(part.size());
  return self.subtext(text);
}

Value replace(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("replace", arguments, {"old", "new", "count"}, 2);
  const bool safe = self.is_safe_text();
  const auto part = [&](size_t index) {
    bound.text(index);
    return safe ? escape_html(runtime, bound[index]) : bound[index].as_text();
  };
  return Value::text_like(
      self, replace_text(runtime, self.as_text(), part(0), part(1), bound.small_integer(2, -1)));
}

Value join(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("join", arguments, {"iterable"}, 1);
  TextBuilder out;
  size_t index = 0;
  for (const Value& item : collect(runtime, bound[0])) {
    if (!item.is_text())
      throw Fault(FaultKind::kType, "sequence item " + std::to_string(index) + ": expected str instance, " +
                                        item.type_name() + " found");
    if (index++ > 0) out.append(self);
    const bool escape = self.is_safe_text() && !item.is_safe_text();
    out.append(escape ? Value::text(escape_html(runtime, item)) : item);
    runtime.check_output(out.size());
    runtime.spend(1 + (self.as_text().size() + item.as_text().size()) / 32);
  }
  return self.is_safe_text() ? Value::safe_text(out.take_bytes()) : out.take();
}

template <Side kSide>
Value partition(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("partition", arguments, {"sep"}, 1);
  runtime.admit_text(self.as_text().size());
  const std::string& separator = bound.text(0);
  if (separator.empty()) throw Fault(FaultKind::kValue, "empty separator");
  const std::string& text = self.as_text();
  const size_t at = kSide == Side::kFirst ? text.find(separator) : text.rfind(separator);
  const Value none = Value::text_like(self, "");
  if (at == std::string::npos)
    return Value::tuple(kSide == Side::kFirst ? std::vector<Value>{self, none, none}
                                              : std::vector<Value>{none, none, self});
  const size_t after = at + separator.size();
  return Value::tuple(
      {self.subtext(0, at), Value::text_like(self, separator), self.subtext(after, text.size())});
}

enum class Fill { kLeft, kRight, kBoth };

template <Fill kFill>
Value justify(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("justify", arguments, {"width", "fillchar"}, 1);
  const std::string fill = bound.has(1) ? bound.text(1) : " ";
  if (code_point_count(fill) != 1)
    throw Fault(FaultKind::kType, "The fill character must be exactly one character long");
  return Value::text_like(self, kFill == Fill::kBoth
                                    ? center_text(runtime, self.as_text(), bound.small_integer(0, 0), fill)
                                    : pad_text(runtime, self.as_text(), bound.small_integer(0, 0), fill,
                                               kFill == Fill::kLeft ? Padding::kBefore : Padding::kAfter));
}

Value zfill(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("zfill", arguments, {"width"}, 1);
  std::string_view text = self.as_text();
  std::string sign;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    sign = text.substr(0, 1);
    text.remove_prefix(1);
  }
  const long long width = bound.small_integer(0, 0) - static_cast<long long>(sign.size());
  return Value::text_like(self, sign + pad_text(runtime, text, width, "0", Padding::kBefore));
}

Value expandtabs(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("expandtabs", arguments, {"tabsize"}, 0);
  const size_t size = static_cast<size_t>(std::clamp(bound.small_integer(0, 8), 0LL, 1000LL));
  std::string out;
  size_t column = 0;
  for (char32_t c : decode_utf8(self.as_text())) {
    if (c == '\t') {
      const size_t blanks = size == 0 ? 0 : size - column % size;
      out.append(blanks, ' ');
      column += blanks;
    } else {
      append_utf8(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
    runtime.admit_text(out.size());
  }
  return Value::text_like(self, std::move(out));
}

Value format(Runtime& runtime, const Value& self, Arguments arguments) {
  return Value::text_like(self, brace_format(runtime, self.as_text(), arguments));
}

Value format_map(Runtime& runtime, const Value& self, Arguments arguments) {
  const BoundArguments bound("format_map", arguments, {"mapping"}, 1);
  CallArguments spread;
  if (bound[0].is(Kind::kDict))
    for (const auto& [key, value] : bound[0].as_dict().entries())
      if (key.is_text()) spread.keyword.emplace_back(key.as_text(), value);
  return Value::text_like(self, brace_format(runtime, self.as_text(), spread));
}

template <bool (*kClass)(char32_t)>
Value all_of_class(Runtime& runtime, const Value& self, Arguments) {
  runtime.spend_walk(self);
  const std::u32string text = decode_utf8(self.as_text());
  return Value::boolean(!text.empty() && std::all_of(text.begin(), text.end(), kClass));
}

bool is_alphanumeric(char32_t c) { return is_alphabetic(c) || is_numeric(c); }
bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0x2070 && c <= 0x2089);
}

Value isascii(Runtime&, const Value& self, Arguments) { return Value::boolean(is_ascii(self.as_text())); }

Value istitle(Runtime&, const Value& self, Arguments) {
  bool cased = false, inside_word = false;
  for (char32_t c : decode_utf8(self.as_text())) {
    const bool capital = is_upper(c) || is_titlecase(c);
    if (capital == inside_word && (capital || is_lower(c))) return Value::boolean(false);
    inside_word = capital || is_lower(c);
    cased |= inside_word;
  }
  return Value::boolean(cased);
}

Value isupper(Runtime&, const Value& self, Arguments) {
  return Value::boolean(is_upper_text(self.as_text()));
}
Value islower(Runtime&, const Value& self, Arguments) {
  return Value::boolean(is_lower_text(self.as_text()));
}

Value isidentifier(Runtime&, const Value& self, Arguments) {
  const std::u32string text = decode_utf8(self.as_text());
  return Value::boolean(!text.empty() && is_identifier_start(text[0]) &&
                        std::all_of(text.begin(), text.end(), is_identifier_part));
}

const std::unordered_map<std::string_view, Method>& table() {
  static const std::unordered_map<std::string_view, Method> kTable = {
      {"capitalize", mapped<to_capitalized>},
      {"casefold", mapped<to_lower>},
      {"center", justify<Fill::kBoth>},
      {"count", count_substring},
      {"endswith", has_end_method<Side::kLast>},
      {"expandtabs", expandtabs},
      {"find", find_method<Side::kFirst>},
      {"format", format},
      {"format_map", format_map},
      {"index", index_method<Side::kFirst>},
      {"isalnum", all_of_class<is_alphanumeric>},
      {"isalpha", all_of_class<is_alphabetic>},
      {"isascii", isascii},
      {"isdecimal", all_of_class<is_decimal>},
      {"isdigit", all_of_class<is_digit>},
      {"isidentifier", isidentifier},
      {"islower", islower},
      {"isnumeric", all_of_class<is_numeric>},
      {"isspace", all_of_class<is_space>},
      {"istitle", istitle},
      {"isupper", isupper},
      {"join", join},
      {"ljust", justify<Fill::kRight>},
      {"lower", mapped<to_lower>},
      {"lstrip", stripped<strip_left>},
      {"partition", partition<Side::kFirst>},
      {"removeprefix", remove_end<Side::kFirst>},
      {"removesuffix", remove_end<Side::kLast>},
      {"replace", replace},
      {"rfind", find_method<Side::kLast>},
      {"rindex", index_method<Side::kLast>},
      {"rjust", justify<Fill::kLeft>},
      {"rpartition", partition<Side::kLast>},
      {"rsplit", split_method<split_from_right>},
      {"rstrip", stripped<strip_right>},
      {"split", split_method<split>},
      {"splitlines", splitlines},
      {"startswith", has_end_method<Side::kFirst>},
      {"strip", stripped<strip>},
      {"swapcase", mapped<to_swapped_case>},
      {"title", mapped<to_title>},
      {"upper", mapped<to_upper>},
      {"zfill", zfill},
  };
  return kTable;
}

}  // namespace

Method find_text_method(std::string_view name) {
  const auto at = table().find(name);
  return at == table().end() ? nullptr : at->second;
}

}  // namespace lanner::text::jinja
