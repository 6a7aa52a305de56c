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

namespace lanner::engine {

/// Grammars over one model's vocabulary: compiled once, the latest used kept, as many as a number of bytes
/// holds. May be used from any thread.
class GrammarCache {
 public:
  using Write = std::function<text::grammar::GrammarSource(const text::grammar::GrammarVocabulary&)>;

  /// `max_bytes`: of all grammars that are kept; the latest is kept in any case.
  explicit GrammarCache(std::shared_ptr<const LoadedModel> model,
                        std::size_t max_bytes = std::size_t{256} << 20)
      : model_(std::move(model)), max_bytes_(max_bytes) {}

  /// The grammar known by `key`, or the one that `write` writes. Throws what `write` and Grammar throw.
  std::shared_ptr<const text::grammar::Grammar> find(const std::string& key, const Write& write);
  /// Seconds that grammars took to compile; those that are wrong do not count.
  BucketCounts compile_times() const;
  std::size_t size() const;

 private:
  static constexpr std::array kSecondsBounds = {1e-4, 2e-4, 5e-4, .001, .002, .005, .01, .02,
                                                .05,  .1,   .2,   .5,   1.0,  2.0,  5.0, 10.0};
  std::shared_ptr<const text::grammar::GrammarVocabulary> vocabulary();
  /// Drops the grammars that were not used for longest until the others fit: grammars grow with use.
  void drop_oldest();

  const std::shared_ptr<const LoadedModel> model_;
  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  BucketCounts compile_times_{kSecondsBounds};
  std::shared_ptr<const text::grammar::GrammarVocabulary> vocabulary_;  ///< made when first needed
  std::list<std::pair<std::string, std::shared_ptr<const text::grammar::Grammar>>> kept_;  ///< latest first
};

}  // namespace lanner::engine
