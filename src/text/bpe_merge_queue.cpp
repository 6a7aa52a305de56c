// SPDX-License-Identifier: MIT
#include "text/bpe_merge_queue.h"

#include <algorithm>
#include <functional>

namespace lanner::text {

void BpeMergeQueue::start(const std::vector<std::uint64_t>& first) {
  for (Run& run : runs_) {
    run.numbers.clear();
    run.taken = 0;
  }
  fronts_.fill(kEmpty);
  backs_.fill(0);
  heap_.clear();
  if (first.empty()) return;
  Run& run = runs_.front();
  run.numbers = first;
  std::sort(run.numbers.begin(), run.numbers.end());
  fronts_.front() = run.numbers.front();
  backs_.front() = run.numbers.back();
}

void BpeMergeQueue::push(std::uint64_t number) {
  // The run whose last number is nearest below leaves the others free for smaller ones.
  std::size_t best = kRuns;
  for (std::size_t run = 0; run < kRuns; ++run)
    if (backs_[run] <= number && (best == kRuns || backs_[run] > backs_[best])) best = run;
  if (best == kRuns) {
    heap_.push_back(number);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    return;
  }
  runs_[best].numbers.push_back(number);
  backs_[best] = number;
  if (fronts_[best] == kEmpty) fronts_[best] = number;
}

std::optional<std::uint64_t> BpeMergeQueue::pop() {
  std::size_t best = 0;
  for (std::size_t run = 1; run < kRuns; ++run)
    if (fronts_[run] < fronts_[best]) best = run;
  if (!heap_.empty() && heap_.front() < fronts_[best]) return take_from_heap();
  if (fronts_[best] == kEmpty) return std::nullopt;
  return take_from(best);
}

std::uint64_t BpeMergeQueue::take_from(std::size_t index) {
  Run& run = runs_[index];
  const std::uint64_t number = run.numbers[run.taken++];
  if (run.taken < run.numbers.size()) {
    fronts_[index] = run.numbers[run.taken];
  } else {
    run.numbers.clear();
    run.taken = 0;
    fronts_[index] = kEmpty;
    backs_[index] = 0;
  }
  return number;
}

std::uint64_t BpeMergeQueue::take_from_heap() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const std::uint64_t number = heap_.back();
  heap_.pop_back();
  return number;
}

}  // namespace lanner::text
