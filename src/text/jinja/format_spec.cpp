// SPDX-License-Identifier: MIT
#include "text/jinja/format_spec.h"

#include <cmath>

#include "text/jinja/fault.h"
#include "text/jinja/number_text.h"
#include "text/jinja/unicode.h"

namespace lanner::text::jinja {
namespace {

std::string group_digits(std::string digits, char separator) {
  const size_t end = std::min(digits.find('.'), std::min(digits.find('e'), digits.size()));
  for (size_t at = end; at > 3; at -= 3) digits.insert(at - 3, 1, separator);
  return digits;
}

std::string integer_digits(Int magnitude, const FormatSpec& spec, std::string& prefix) {
  switch (spec.type) {
    case 'x':
    case 'X':
      prefix = spec.alternate ? (spec.type == 'x' ? "0x" : "0X") : "";
      return spec.type == 'x' ? int_text(magnitude, 16) : to_upper(int_text(magnitude, 16));
    case 'o':
      prefix = spec.alternate ? "0o" : "";
      return int_text(magnitude, 8);
    case 'b':
      prefix = spec.alternate ? "0b" : "";
      return int_text(magnitude, 2);
    default:
      return int_text(magnitude);
  }
}

std::string float_digits(double magnitude, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 0:
      if (spec.precision < 0) return float_text(magnitude);
      return float_text(magnitude, 'g', std::max(precision, 1));
    case 'n':
    case 'g':
      return float_text(magnitude, 'g', std::max(precision, 1));
    case 'G':
      return float_text(magnitude, 'G', std::max(precision, 1));
    case '%':
      return float_text(magnitude * 100, 'f', precision) + "%";
    case 'e':
    case 'E':
    case 'f':
    case 'F':
      return float_text(magnitude, spec.type, precision);
    default:
      throw Fault(FaultKind::kValue,
                  "Unknown format code '" + std::string(1, spec.type) + "' for object of type 'float'");
  }
}

bool is_float_type(char type) {
  return type != 0 && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

}  // namespace

std::string number_body(const Value& value, const FormatSpec& spec, size_t& prefix_length) {
  std::string prefix, digits;
  bool negative = false;
  if (value.is(Kind::kFloat) || is_float_type(spec.type)) {
    const double number = value.as_double();
    negative = std::signbit(number) && !std::isnan(number);
    digits = float_digits(std::fabs(number), spec);
  } else {
    const Int number = value.as_int();
    negative = number < 0;
    digits = integer_digits(negative ? -number : number, spec, prefix);
  }
  if (spec.grouping) digits = group_digits(std::move(digits), spec.grouping);
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  prefix_length = sign.size() + prefix.size();
  return sign + prefix + digits;
}

std::string pad(Runtime& runtime, std::string_view text, size_t prefix_length, const FormatSpec& spec,
                char default_align) {
  const size_t length = code_point_count(text);
  const size_t width = static_cast<size_t>(spec.width);
  if (width <= length) return std::string(text);
  runtime.admit_text(text.size() + width * 4);
  const size_t missing = width - length;
  const auto filling = [&](size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) append_utf8(out, spec.fill);
    return out;
  };
  switch (spec.align ? spec.align : default_align) {
    case '<':
      return std::string(text) + filling(missing);
    case '^':
      return filling(missing / 2) + std::string(text) + filling(missing - missing / 2);
    case '=':
      return std::string(text.substr(0, prefix_length)) + filling(missing) +
             std::string(text.substr(prefix_length));
    default:
      return filling(missing) + std::string(text);
  }
}

std::string format_value(Runtime& runtime, const Value& value, const FormatSpec& spec) {
  const bool as_text = value.is_text() || (value.is(Kind::kBool) && spec.type == 0);
  if (value.is_number() && !(as_text && spec.type == 0)) {
    if (spec.type == 'c') {
      std::string character;
      append_utf8(character, static_cast<char32_t>(value.as_int()));
      return pad(runtime, character, 0, spec, '<');
    }
    size_t prefix_length = 0;
    const std::string body = number_body(value, spec, prefix_length);
    return pad(runtime, body, prefix_length, spec, '>');
  }
  if (!value.is_text() && (spec.width != 0 || spec.type != 0 || spec.precision >= 0) &&
      !value.is(Kind::kBool))
    throw Fault(FaultKind::kType, "unsupported format string passed to " + value.type_name() + ".__format__");
  if (spec.type != 0 && spec.type != 's')
    throw Fault(FaultKind::kValue,
                "Unknown format code '" + std::string(1, spec.type) + "' for object of type 'str'");
  const std::string text = runtime.text(value);
  if (spec.precision < 0) return pad(runtime, text, 0, spec, '<');
  return pad(runtime, code_point_range(text, 0, static_cast<size_t>(spec.precision)), 0, spec, '<');
}

}  // namespace lanner::text::jinja
