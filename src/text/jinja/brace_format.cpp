// SPDX-License-Identifier: MIT
#include "text/jinja/fault.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

bool is_align(char32_t c) { return c == '<' || c == '>' || c == '^' || c == '='; }

int read_number(std::string_view spec, size_t& at) {
  int number = 0;
  for (; at < spec.size() && spec[at] >= '0' && spec[at] <= '9'; ++at) {
    number = number * 10 + (spec[at] - '0');
    if (number > kMaxFormatWidth) throw Fault(FaultKind::kValue, "Too many decimal digits in format string");
  }
  return number;
}

FormatSpec parse_spec(std::string_view spec) {
  FormatSpec out;
  size_t at = 0;
  if (!spec.empty()) {
    size_t second = 0;
    const char32_t first = next_code_point(spec, second);
    if (second < spec.size() && is_align(static_cast<unsigned char>(spec[second]))) {
      out.fill = first;
      out.align = spec[second];
      at = second + 1;
    } else if (is_align(first)) {
      out.align = spec[at++];
    }
  }
  const auto take = [&](std::string_view set, char& into) {
    if (at < spec.size() && set.find(spec[at]) != std::string_view::npos) into = spec[at++];
  };
  take("+- ", out.sign);
  if (at < spec.size() && spec[at] == '#') out.alternate = true, ++at;
  if (at < spec.size() && spec[at] == '0' && out.align == 0) {
    out.fill = '0';
    out.align = '=';
    ++at;
  }
  out.width = read_number(spec, at);
  take(",_", out.grouping);
  if (at < spec.size() && spec[at] == '.') {
    const size_t digits = ++at;
    out.precision = read_number(spec, at);
    if (at == digits) throw Fault(FaultKind::kValue, "Format specifier missing precision");
  }
  if (at < spec.size()) out.type = spec[at++];
  if (at != spec.size()) throw Fault(FaultKind::kValue, "Invalid format specifier");
  return out;
}

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const CallArguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) throw Fault(FaultKind::kValue, "Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if (c != '{' && c != '}') {
        out += format[at++];
        continue;
      }
      if (at + 1 < format.size() && format[at + 1] == c) {
        out += c;
        at += 2;
        continue;
      }
      if (c == '}') throw Fault(FaultKind::kValue, "Single '}' encountered in format string");
      const size_t end = find_end(format, at + 1);
      out += field(format.substr(at + 1, end - at - 1), depth);
      at = end + 1;
      runtime_.admit_text(out.size());
    }
    return out;
  }

 private:
  static size_t find_end(std::string_view format, size_t at) {
    int open = 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    throw Fault(FaultKind::kValue, "expected '}' before end of string");
  }

  std::string field(std::string_view body, int depth) {
    size_t name_end = 0;
    for (bool in_brackets = false; name_end < body.size(); ++name_end) {
      if (body[name_end] == '[') in_brackets = true;
      if (body[name_end] == ']') in_brackets = false;
      if (!in_brackets && (body[name_end] == '!' || body[name_end] == ':')) break;
    }
    Value value = lookup(body.substr(0, name_end));
    std::string_view rest = body.substr(name_end);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2)
        throw Fault(FaultKind::kValue, "end of string while looking for conversion specifier");
      if (rest[1] != 's' && rest[1] != 'r' && rest[1] != 'a')
        throw Fault(FaultKind::kValue, "Unknown conversion specifier " + std::string(1, rest[1]));
      value = Value::text(rest[1] == 's' ? runtime_.text(value) : runtime_.repr(value));
      rest.remove_prefix(2);
      if (!rest.empty() && rest[0] != ':')
        throw Fault(FaultKind::kValue, "expected ':' after conversion specifier");
    }
    const std::string spec = rest.empty() ? std::string() : run(rest.substr(1), depth + 1);
    return spec.empty() ? runtime_.text(value) : format_value(runtime_, value, parse_spec(spec));
  }

  Value lookup(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = first_value(name.substr(0, end));
    for (size_t at = end; at < name.size();) {
      const bool attribute = name[at] == '.';
      const size_t stop =
          attribute ? std::min(name.find_first_of(".[", at + 1), name.size()) : name.find(']', at);
      if (stop == std::string_view::npos) throw Fault(FaultKind::kValue, "Missing ']' in format string");
      const std::string_view part = name.substr(at + 1, stop - at - 1);
      if (part.empty()) throw Fault(FaultKind::kValue, "Empty attribute in format string");
      value = attribute ? get_attribute(runtime_, value, part) : get_item(runtime_, value, key_value(part));
      at = attribute ? stop : stop + 1;
    }
    return value;
  }

  static bool is_index(std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  static Value key_value(std::string_view part) {
    return is_index(part) ? Value::integer(std::stol(std::string(part))) : Value::text(part);
  }

  Value first_value(std::string_view name) {
    if (name.empty() || is_index(name)) {
      const size_t index = name.empty() ? next_++ : static_cast<size_t>(std::stoul(std::string(name)));
      if (index < arguments_.positional.size()) return arguments_.positional[index];
      throw Fault(FaultKind::kValue,
                  "Replacement index " + std::to_string(index) + " out of range for positional args tuple");
    }
    for (const auto& [key, value] : arguments_.keyword)
      if (key == name) return value;
    throw Fault(FaultKind::kValue, "KeyError: " + quoted_repr(name));
  }

  Runtime& runtime_;
  const CallArguments& arguments_;
  size_t next_ = 0;
};

}  // namespace

std::string brace_format(Runtime& runtime, std::string_view format, const CallArguments& arguments) {
  return BraceFormatter(runtime, arguments).run(format, 0);
}

}  // namespace lanner::text::jinja
