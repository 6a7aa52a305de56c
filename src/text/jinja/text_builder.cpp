// SPDX-License-Identifier: MIT
#include "text/jinja/text_builder.h"

namespace lanner::text::jinja {

void TextBuilder::mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!literal_.empty() && literal_.back().end == begin)
    literal_.back().end = end;
  else
    literal_.push_back({begin, end});
}

void TextBuilder::append_literal(std::string_view literal) {
  const size_t start = bytes_.size();
  bytes_ += literal;
  mark(start, bytes_.size());
}

void TextBuilder::append(const Value& text) {
  const size_t start = bytes_.size();
  bytes_ += text.as_text();
  for (const TextSpan& span : text.literal_spans()) mark(start + span.begin, start + span.end);
}

}  // namespace lanner::text::jinja
