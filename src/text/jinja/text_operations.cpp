// SPDX-License-Identifier: MIT
#include "text/jinja/text_operations.h"

#include "text/jinja/unicode.h"

namespace lanner::text::jinja {
namespace {

std::string repeated(std::string_view part, long long times) {
  std::string out;
  for (long long i = 0; i < times; ++i) out += part;
  return out;
}

// str.replace with an empty old part: the new one goes between all characters and at both ends.
std::string interleave(Runtime& runtime, std::string_view text, std::string_view part, long long count) {
  std::string out;
  long long done = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    next_code_point(text, at);
    if (count < 0 || done < count) out += part, ++done;
    out += text.substr(start, at - start);
    runtime.admit_text(out.size());
  }
  if (count < 0 || done < count) out += part;
  return out;
}

// A cased character of the wrong kind decides at once; at least one of the right kind is needed.
bool all_cased(std::string_view text, bool (*right)(char32_t), bool (*wrong)(char32_t)) {
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (wrong(c) || is_titlecase(c)) return false;
    found |= right(c);
  }
  return found;
}

}  // namespace

std::string replace_text(Runtime& runtime, std::string_view text, std::string_view old_part,
                         std::string_view new_part, long long count) {
  runtime.admit_text(text.size());
  if (old_part.empty()) return interleave(runtime, text, new_part, count);
  std::string out;
  size_t start = 0;
  for (long long done = 0; count < 0 || done < count; ++done) {
    const size_t at = text.find(old_part, start);
    if (at == std::string_view::npos) break;
    out += text.substr(start, at - start);
    out += new_part;
    start = at + old_part.size();
    if (out.size() > text.size()) runtime.admit_text(new_part.size());
    if (out.size() > runtime.limits().max_text_bytes) runtime.admit_text(out.size());
  }
  out += text.substr(start);
  runtime.admit_text(out.size());
  return out;
}

std::string pad_text(Runtime& runtime, std::string_view text, long long width, std::string_view fill,
                     Padding side) {
  const long long missing = width - static_cast<long long>(code_point_count(text));
  if (missing <= 0) return std::string(text);
  runtime.admit_text(text.size() + static_cast<size_t>(missing) * fill.size());
  const std::string padding = repeated(fill, missing);
  return side == Padding::kBefore ? padding + std::string(text) : std::string(text) + padding;
}

std::string center_text(Runtime& runtime, std::string_view text, long long width, std::string_view fill) {
  const long long missing = width - static_cast<long long>(code_point_count(text));
  if (missing <= 0) return std::string(text);
  runtime.admit_text(text.size() + static_cast<size_t>(missing) * fill.size());
  const long long left = missing / 2 + (missing & width & 1);
  return repeated(fill, left) + std::string(text) + repeated(fill, missing - left);
}

bool is_upper_text(std::string_view text) { return all_cased(text, is_upper, is_lower); }
bool is_lower_text(std::string_view text) { return all_cased(text, is_lower, is_upper); }

}  // namespace lanner::text::jinja
