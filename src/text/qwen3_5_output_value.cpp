// SPDX-License-Identifier: MIT
#include "text/qwen3_5_output_value.h"

#include "text/markup_blanks.h"
#include "text/qwen3_5_tags.h"

namespace lanner::text {
namespace {

// text is a beginning of the tag, perhaps all of it.
bool may_become(std::string_view text, std::string_view tag) { return tag.starts_with(text); }

}  // namespace

void Qwen35Value::begin() { *this = Qwen35Value(); }

// Does one of the tags follow, blanks aside?
Qwen35Value::Candidate Qwen35Value::examine_following(std::size_t at,
                                                      std::initializer_list<std::string_view> tags) const {
  const std::size_t start = held_.find_first_not_of(kBlanks, at);
  if (start == std::string::npos) return Candidate::kUndecided;
  const std::string_view rest = std::string_view(held_).substr(start);
  for (std::string_view tag : tags) {
    if (rest.starts_with(tag)) return Candidate::kCloses;
    if (may_become(rest, tag)) return Candidate::kUndecided;
  }
  return Candidate::kNone;
}

// A '<' at `at`: does the value end here?
Qwen35Value::Candidate Qwen35Value::examine(std::size_t at) const {
  const std::string_view rest = std::string_view(held_).substr(at);
  if (rest.starts_with(kParameterEnd))
    return examine_following(at + kParameterEnd.size(), {kParameter, kFunctionEnd});
  const bool starts_line = at == 0 ? line_start_ : held_[at - 1] == '\n';
  if (starts_line && rest.starts_with(kParameter)) return Candidate::kCloses;
  // The end of the function ends the value only if the next call or (a token) the end of this one follows.
  if (starts_line && rest.starts_with(kFunctionEnd))
    return examine_following(at + kFunctionEnd.size(), {kFunction});
  const bool undecided = may_become(rest, kParameterEnd) ||
                         (starts_line && (may_become(rest, kParameter) || may_become(rest, kFunctionEnd)));
  return undecided ? Candidate::kUndecided : Candidate::kNone;
}

void Qwen35Value::accept(std::size_t count, std::string& value) {
  if (count == 0) return;
  line_start_ = held_[count - 1] == '\n';
  value.append(held_, 0, count);
  held_.erase(0, count);
}

Qwen35Value::Status Qwen35Value::read(std::string_view text, std::string& value) {
  held_ += text;
  if (at_start_ && !held_.empty()) {
    at_start_ = false;
    if (held_[0] == '\n') held_.erase(0, 1);
  }
  while (true) {
    const std::size_t tag = held_.find('<');
    if (tag == std::string::npos) {
      // A newline at the end may be the one before the closing tag.
      const bool newline = !held_.empty() && held_.back() == '\n';
      accept(held_.size() - (newline ? 1 : 0), value);
      return Status::kMore;
    }
    const std::size_t newline = tag > 0 && held_[tag - 1] == '\n' ? 1 : 0;
    switch (examine(tag)) {
      case Candidate::kNone:
        accept(tag + 1, value);
        break;
      case Candidate::kUndecided:
        accept(tag - newline, value);
        return Status::kMore;
      case Candidate::kCloses:
        accept(tag - newline, value);
        held_.erase(0, newline);
        if (held_.starts_with(kParameterEnd)) held_.erase(0, kParameterEnd.size());
        return Status::kDone;
    }
  }
}

void Qwen35Value::end_at_marker(std::string& value) {
  // What is held is a newline, a possible tag and what follows it; whole closing tags are not part of the
  // value.
  std::string_view kept = held_;
  const auto drop = [&](std::string_view tag) {
    const std::size_t at = kept.rfind(tag);
    if (at != std::string_view::npos &&
        kept.find_first_not_of(kBlanks, at + tag.size()) == std::string_view::npos)
      kept = kept.substr(0, at);
  };
  drop(kFunctionEnd);
  drop(kParameterEnd);
  if (!kept.empty() && kept.back() == '\n') kept.remove_suffix(1);
  value += kept;
  held_.clear();
}

}  // namespace lanner::text
