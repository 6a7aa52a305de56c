// SPDX-License-Identifier: MIT
#include <cctype>

#include "text/output_parser_schema.h"

namespace lanner::text {
namespace {

/// Reads one Python literal and writes it as JSON.
class PythonLiteral {
 public:
  explicit PythonLiteral(std::string_view text) : text_(text) {}

  std::string convert() {
    if (!value(0)) return {};
    skip_blanks();
    return at_ == text_.size() ? std::move(json_) : std::string();
  }

 private:
  static constexpr int kMaxDepth = 64;

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word, std::string_view json) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    json_ += json;
    return true;
  }

  bool value(int depth) {
    skip_blanks();
    if (at_ >= text_.size() || depth > kMaxDepth) return false;
    const char c = text_[at_];
    if (c == '{') return dict(depth);
    if (c == '[') return sequence(']', depth);
    if (c == '(') return sequence(')', depth);
    if (c == '\'' || c == '"') return string();
    if (take_word("True", "true") || take_word("False", "false") || take_word("None", "null")) return true;
    if (take_word("true", "true") || take_word("false", "false") || take_word("null", "null")) return true;
    return number();
  }

  bool dict(int depth) {
    ++at_;
    json_ += '{';
    for (bool first = true; !take('}'); first = false) {
      if (!first && !take(',')) return false;
      if (!first && take('}')) break;
      if (!first) json_ += ',';
      skip_blanks();
      if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"') || !string() || !take(':'))
        return false;
      json_ += ':';
      if (!value(depth + 1)) return false;
    }
    json_ += '}';
    return true;
  }

  bool sequence(char close, int depth) {
    ++at_;
    json_ += '[';
    for (bool first = true; !take(close); first = false) {
      if (!first && !take(',')) return false;
      if (!first && take(close)) break;
      if (!first) json_ += ',';
      if (!value(depth + 1)) return false;
    }
    json_ += ']';
    return true;
  }

  bool string() {
    const char quote = text_[at_++];
    std::string content;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\') {
        content += text_[at_++];
        continue;
      }
      if (++at_ >= text_.size()) return false;
      const char escape = text_[at_++];
      switch (escape) {
        case 'n':
          content += '\n';
          break;
        case 't':
          content += '\t';
          break;
        case 'r':
          content += '\r';
          break;
        case '\\':
        case '\'':
        case '"':
          content += escape;
          break;
        default:
          content += '\\';
          content += escape;
      }
    }
    if (at_ >= text_.size()) return false;
    ++at_;
    json_ += json_string(content);
    return true;
  }

  bool number() {
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' ||
                                  text_[at_] == '-' || text_[at_] == '+'))
      ++at_;
    const std::string_view digits = text_.substr(start, at_ - start);
    const bool numeric =
        !digits.empty() && (digits[0] == '-' || std::isdigit(static_cast<unsigned char>(digits[0])));
    if (!numeric || !is_json(digits)) return false;
    json_ += digits;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string json_;
};

}  // namespace

std::string json_from_python_literal(std::string_view text) { return PythonLiteral(text).convert(); }

}  // namespace lanner::text
