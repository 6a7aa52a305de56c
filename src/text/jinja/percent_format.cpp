// SPDX-License-Identifier: MIT
#include <cmath>

#include "text/jinja/fault.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Value& format, const Value& arguments)
      : runtime_(runtime), format_(format.as_text()), safe_(format.is_safe_text()), arguments_(arguments) {}

  std::string run() {
    std::string out;
    while (position_ < format_.size()) {
      const size_t percent = format_.find('%', position_);
      out += format_.substr(position_, percent - position_);
      if (percent == std::string_view::npos) break;
      position_ = percent + 1;
      out += convert();
      runtime_.admit_text(out.size());
    }
    const bool unused =
        arguments_.is(Kind::kTuple)
            ? next_ < arguments_.items().size()
            : !used_mapping_ && next_ == 0 && !arguments_.is(Kind::kDict) && !arguments_.is(Kind::kList);
    if (unused) throw Fault(FaultKind::kType, "not all arguments converted during string formatting");
    return out;
  }

 private:
  char peek() const {
    if (position_ >= format_.size()) throw Fault(FaultKind::kValue, "incomplete format");
    return format_[position_];
  }

  const Value& next_argument() {
    if (arguments_.is(Kind::kTuple)) {
      if (next_ < arguments_.items().size()) return arguments_.items()[next_++];
    } else if (next_++ == 0) {
      return arguments_;
    }
    throw Fault(FaultKind::kType, "not enough arguments for format string");
  }

  Value keyed_argument() {
    const size_t end = format_.find(')', position_);
    if (end == std::string_view::npos) throw Fault(FaultKind::kValue, "incomplete format key");
    const std::string key(format_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    used_mapping_ = true;
    if (!arguments_.is(Kind::kDict)) throw Fault(FaultKind::kType, "format requires a mapping");
    const Value* found = arguments_.as_dict().find(std::string_view(key));
    if (!found) throw Fault(FaultKind::kValue, "KeyError: " + quoted_repr(key));
    return *found;
  }

  int read_number() {
    if (peek() == '*') {
      ++position_;
      const Value& argument = next_argument();
      if (!argument.is_integral()) throw Fault(FaultKind::kType, "* wants int");
      return check_number(argument.as_int());
    }
    Int number = 0;
    while (peek() >= '0' && peek() <= '9') number = check_number(number * 10 + (format_[position_++] - '0'));
    return static_cast<int>(number);
  }

  static int check_number(Int number) {
    if (number > kMaxFormatWidth || number < -kMaxFormatWidth)
      throw Fault(FaultKind::kValue, "width or precision too big");
    return static_cast<int>(number);
  }

  std::string convert() {
    if (peek() == '%') {
      ++position_;
      return "%";
    }
    std::optional<Value> keyed;
    if (peek() == '(') keyed = keyed_argument();
    FormatSpec spec;
    for (bool flags = true; flags;) {
      switch (peek()) {
        case '-':
          spec.align = '<';
          ++position_;
          break;
        case '+':
          spec.sign = '+';
          ++position_;
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          ++position_;
          break;
        case '#':
          spec.alternate = true;
          ++position_;
          break;
        case '0':
          spec.fill = '0';
          ++position_;
          break;
        default:
          flags = false;
      }
    }
    spec.width = read_number();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (peek() == '.') {
      ++position_;
      spec.precision = std::max(read_number(), 0);
    }
    spec.type = peek();
    ++position_;
    return convert_value(keyed ? *keyed : next_argument(), spec);
  }

  std::string convert_value(const Value& value, FormatSpec spec) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a':
        return convert_text(value, spec);
      case 'c':
        return convert_character(value, spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return convert_integer(value, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (value.is_undefined()) throw_undefined(value);
        if (!value.is_number())
          throw Fault(FaultKind::kType, "must be real number, not " + value.type_name());
        return finish_number(value, spec);
      default:
        throw Fault(FaultKind::kValue, "unsupported format character '" + std::string(1, spec.type) + "'");
    }
  }

  std::string convert_text(const Value& value, FormatSpec spec) {
    std::string text = spec.type == 's' ? runtime_.text(value) : runtime_.repr(value);
    if (safe_ && !value.is_safe_text()) text = escape_html(text);
    spec.fill = ' ';
    if (spec.precision >= 0) text = code_point_range(text, 0, static_cast<size_t>(spec.precision));
    return pad(runtime_, text, 0, spec, '>');
  }

  std::string convert_character(const Value& value, FormatSpec spec) {
    std::string text;
    if (value.is_text() && code_point_count(value.as_text()) == 1) {
      text = value.as_text();
    } else if (value.is_integral()) {
      append_utf8(text, static_cast<char32_t>(value.as_int()));
    } else {
      throw Fault(FaultKind::kType, "%c requires int or char");
    }
    spec.fill = ' ';
    return pad(runtime_, text, 0, spec, '>');
  }

  std::string convert_integer(const Value& value, FormatSpec spec) {
    if (value.is_undefined()) throw_undefined(value);
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (!value.is_integral() && !(decimal && value.is(Kind::kFloat)))
      throw Fault(FaultKind::kType, "%" + std::string(1, spec.type) +
                                        " format: a real number is required, not " + value.type_name());
    Value number = value;
    if (value.is(Kind::kFloat)) {
      const auto whole = int_from_double(value.as_double());
      if (!whole) throw Fault(FaultKind::kValue, "cannot convert float to integer");
      number = Value::integer(*whole);
    }
    if (decimal) spec.type = 'd';
    return finish_number(Value::integer(number.as_int()), spec);
  }

  std::string finish_number(const Value& value, FormatSpec spec) {
    size_t prefix_length = 0;
    const int digits_wanted = value.is(Kind::kInt) && spec.precision > 0 ? spec.precision : 0;
    std::string body = number_body(value, spec, prefix_length);
    const int digits = static_cast<int>(body.size() - prefix_length);
    if (digits_wanted > digits &&
        (spec.type == 'd' || spec.type == 'x' || spec.type == 'X' || spec.type == 'o'))
      body.insert(prefix_length, static_cast<size_t>(digits_wanted - digits), '0');
    if (spec.align == '<') spec.fill = ' ';
    return pad(runtime_, body, prefix_length, spec, spec.fill == '0' ? '=' : '>');
  }

  Runtime& runtime_;
  std::string_view format_;
  bool safe_;
  const Value& arguments_;
  size_t position_ = 0;
  size_t next_ = 0;
  bool used_mapping_ = false;
};

}  // namespace

std::string percent_format(Runtime& runtime, const Value& format, const Value& arguments) {
  return PercentFormatter(runtime, format, arguments).run();
}

}  // namespace lanner::text::jinja
