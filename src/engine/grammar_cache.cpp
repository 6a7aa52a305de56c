// SPDX-License-Identifier: MIT
#include "engine/grammar_cache.h"

#include <algorithm>
#include <chrono>

namespace lanner::engine {

using text::grammar::Grammar;
using text::grammar::GrammarVocabulary;

std::shared_ptr<const GrammarVocabulary> GrammarCache::vocabulary() {
  const std::lock_guard lock(mutex_);
  if (!vocabulary_)
    vocabulary_ = std::make_shared<GrammarVocabulary>(model_->tokenizer(), model_->defaults().stop_ids);
  return vocabulary_;
}

BucketCounts GrammarCache::compile_times() const {
  const std::lock_guard lock(mutex_);
  return compile_times_;
}

std::size_t GrammarCache::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void GrammarCache::drop_oldest() {
  std::size_t bytes = 0;
  for (auto entry = kept_.begin(); entry != kept_.end(); ++entry) {
    bytes += entry->first.size() + entry->second->memory_bytes();
    if (bytes <= max_bytes_ || entry == kept_.begin()) continue;
    kept_.erase(entry, kept_.end());
    return;
  }
}

std::shared_ptr<const Grammar> GrammarCache::find(const std::string& key, const Write& write) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, key, [](const auto& entry) { return entry.first; });
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      drop_oldest();
      return kept_.front().second;
    }
  }
  const auto known = vocabulary();
  const auto begin = std::chrono::steady_clock::now();
  auto grammar = std::make_shared<const Grammar>(write(*known), known);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const std::lock_guard lock(mutex_);
  compile_times_.add(taken.count());
  kept_.emplace_front(key, grammar);
  drop_oldest();
  return grammar;
}

}  // namespace lanner::engine
