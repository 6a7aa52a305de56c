// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/bucket_counts.h"
#include "engine/loaded_model.h"
#include "text/grammar/grammar.h"

namespace lanner::server {

/// Grammars over one model's vocabulary: compiled once, the latest used kept. May be used from any thread.
class GrammarCache {
 public:
  using Write = std::function<text::grammar::GrammarSource(const text::grammar::GrammarVocabulary&)>;

  explicit GrammarCache(std::shared_ptr<const engine::LoadedModel> model) : model_(std::move(model)) {}

  /// The grammar known by `key`, or the one that `write` writes. Throws what `write` and Grammar throw.
  std::shared_ptr<const text::grammar::Grammar> find(const std::string& key, const Write& write);
  /// Seconds that grammars took to compile; those that are wrong do not count.
  BucketCounts compile_times() const;

 private:
  static constexpr std::size_t kKept = 64;
  static constexpr std::array kSecondsBounds = {1e-4, 2e-4, 5e-4, .001, .002, .005, .01, .02,
                                                .05,  .1,   .2,   .5,   1.0,  2.0,  5.0, 10.0};
  std::shared_ptr<const text::grammar::GrammarVocabulary> vocabulary();

  const std::shared_ptr<const engine::LoadedModel> model_;
  mutable std::mutex mutex_;
  BucketCounts compile_times_{kSecondsBounds};
  std::shared_ptr<const text::grammar::GrammarVocabulary> vocabulary_;  ///< made when first needed
  std::list<std::pair<std::string, std::shared_ptr<const text::grammar::Grammar>>> kept_;  ///< latest first
};

}  // namespace lanner::server
