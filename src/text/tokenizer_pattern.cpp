// SPDX-License-Identifier: MIT
#include "text/tokenizer_pattern.h"

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

/// The escape `\c` in PCRE2's spelling, or std::nullopt.
std::optional<std::string_view> translated_escape(char c, bool in_class) {
  switch (c) {
    case 's':
      return R"(\p{White_Space})";
    case 'S':
      return R"(\P{White_Space})";
    case 'h':
      return in_class ? "0-9a-fA-F" : "[0-9a-fA-F]";
    case 'H':
      return in_class ? std::nullopt : std::optional<std::string_view>("[^0-9a-fA-F]");
    case 'w':
      return in_class ? R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})" : R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])";
    case 'W':
      return in_class ? std::nullopt
                      : std::optional<std::string_view>(R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])");
    default:
      return std::nullopt;
  }
}

constexpr std::string_view kTranslatedEscapes = "sShHwW";

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

std::shared_ptr<const void> compile(const std::string& expression, std::string_view where) {
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                   &error_offset, nullptr);
  if (code == nullptr) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{} is {}, which cannot be compiled: {}", where,
                                                     io::in_quotes(expression), pcre2_message(error)));
  }
  // Without a compiler for this machine the interpreter runs the same expression, only slower.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return {code, [](const void* used) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(used))); }};
}

}  // namespace

std::optional<std::string> pcre2_expression(std::string_view oniguruma) {
  if (oniguruma.starts_with("(*")) return std::nullopt;  // PCRE2 would take it for an option
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < oniguruma.size(); ++i) {
    const char c = oniguruma[i];
    const char after = i + 1 < oniguruma.size() ? oniguruma[i + 1] : '\0';
    if (c == '\\' && kTranslatedEscapes.find(after) != std::string_view::npos && after != '\0') {
      const std::optional<std::string_view> escape = translated_escape(after, in_class);
      if (!escape) return std::nullopt;
      out += *escape;
      ++i;
      continue;
    }
    out += c;
    if (c == '\\' && i + 1 < oniguruma.size()) {
      out += after;
      ++i;
    } else if (in_class) {
      if ((c == '[' && after != ':') || (c == '&' && after == '&')) return std::nullopt;
      if (c == ']') in_class = false;
      if (c == '[') {  // [:alpha:]
        const std::size_t end = oniguruma.find(":]", i);
        if (end == std::string_view::npos) return std::nullopt;
        out += oniguruma.substr(i + 1, end + 1 - i);
        i = end + 1;
      }
    } else if (c == '[') {
      in_class = true;
      if (after == '^') out += oniguruma[++i];
    }
  }
  return out;
}

TextPattern TextPattern::literal(std::string text) {
  TextPattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

TextPattern TextPattern::regex(std::string_view expression, std::string_view where) {
  const std::optional<std::string> translated = pcre2_expression(expression);
  if (!translated) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{} is {}, which uses a character class that lanner cannot run", where,
                            io::in_quotes(expression)));
  }
  TextPattern pattern;
  pattern.code_ = compile(*translated, where);
  return pattern;
}

TextPattern TextPattern::parse(const io::Fields& component) {
  const io::Fields pattern = component.required_object("pattern");
  if (std::optional<std::string> text = pattern.find_string("String")) return literal(std::move(*text));
  const std::string where = fmt::format("{}: {}", pattern.source(), pattern.name_of("Regex"));
  return regex(pattern.required_string("Regex"), where);
}

void TextPattern::Search::FreeMatchData::operator()(void* data) const {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(data));
}

TextPattern::Search::Search(const TextPattern& pattern, std::string_view text)
    : pattern_(pattern), text_(text) {
  if (!pattern_.code_) return;
  match_data_.reset(pcre2_match_data_create(1, nullptr));
  if (!match_data_) throw Error(ErrorKind::kOutOfMemory, "no memory left to split text into words");
}

std::optional<TextPattern::Match> TextPattern::Search::next() {
  return pattern_.code_ ? next_regex() : next_literal();
}

std::optional<TextPattern::Match> TextPattern::Search::next_literal() {
  const std::string& literal = pattern_.literal_;
  if (literal.empty()) return std::nullopt;
  const std::size_t found = text_.find(literal, position_);
  if (found == std::string_view::npos) return std::nullopt;
  position_ = found + literal.size();
  return Match{found, position_};
}

std::optional<TextPattern::Match> TextPattern::Search::next_regex() {
  const auto* code = static_cast<const pcre2_code*>(pattern_.code_.get());
  auto* data = static_cast<pcre2_match_data*>(match_data_.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  while (position_ <= text_.size()) {
    int result = pcre2_match(code, subject, text_.size(), position_, PCRE2_NO_UTF_CHECK, data, nullptr);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
      result = pcre2_match(code, subject, text_.size(), position_, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
                           nullptr);
    }
    if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (result < 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("the tokenizer's word pattern fails on this text near byte {}: {}", position_,
                              pcre2_message(result)));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
    const Match match{bounds[0], bounds[1]};
    if (match.begin < position_ || match.end < match.begin) {  // only an expression with \K can do that
      throw Error(ErrorKind::kUnsupported,
                  "the tokenizer's word pattern moves the start of its match, which lanner cannot use");
    }
    if (match.end > match.begin || last_end_ != match.end) {
      position_ = match.end;
      last_end_ = match.end;
      return match;
    }
    // An empty match right behind the last one would repeat for ever.
    if (position_ == text_.size()) return std::nullopt;
    next_code_point(text_, position_);
  }
  return std::nullopt;
}

}  // namespace lanner::text
