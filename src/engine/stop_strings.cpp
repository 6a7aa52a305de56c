// SPDX-License-Identifier: MIT
#include "engine/stop_strings.h"

#include <algorithm>

#include "core/error.h"

namespace lanner::engine {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const std::string& text : strings_)
    if (text.empty()) throw Error(ErrorKind::kInvalidArgument, "a stop string is empty, expected some text");
}

std::string StopStrings::push(std::string_view piece) {
  if (matched_) return {};
  held_ += piece;
  // The earliest end wins, then the longest match.
  std::size_t best_end = std::string::npos;
  const std::string* best = nullptr;
  for (const std::string& text : strings_) {
    const std::size_t begin = held_.find(text);
    if (begin == std::string::npos) continue;
    const std::size_t end = begin + text.size();
    if (best == nullptr || end < best_end || (end == best_end && text.size() > best->size())) {
      best_end = end;
      best = &text;
    }
  }
  std::string certain;
  if (best != nullptr) {
    matched_ = *best;
    certain = held_.substr(0, best_end - best->size());
    held_.clear();
    return certain;
  }
  const std::size_t ready = held_.size() - pending_bytes();
  certain = held_.substr(0, ready);
  held_.erase(0, ready);
  return certain;
}

std::size_t StopStrings::pending_bytes() const {
  std::size_t most = 0;
  for (const std::string& text : strings_)
    for (std::size_t n = std::min(text.size() - 1, held_.size()); n > most; --n)
      if (held_.ends_with(std::string_view(text).substr(0, n))) most = n;
  return most;
}

std::string StopStrings::finish() {
  std::string rest;
  std::swap(rest, held_);
  return rest;
}

}  // namespace lanner::engine
