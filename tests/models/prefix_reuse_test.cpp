// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "cache/prefix_store.h"
#include "core/cpu_features.h"
#include "models/fixture_case.h"
#include "random.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;
using cache::CheckpointClass;
using cache::SequenceCache;

const cache::PrefixKey kKey = {.model = "tale", .kv_types = "", .adapters = ""};

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed) {
  std::vector<TokenId> ids;
  for (float value : random_uniform(count, seed, 300, 7000)) ids.push_back(static_cast<TokenId>(value));
  return ids;
}

/// The first `count` ids, then others.
std::vector<TokenId> parted(const std::vector<TokenId>& ids, std::size_t count, std::size_t more,
                            std::uint64_t seed) {
  std::vector<TokenId> result(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
  const auto others = random_ids(more, seed);
  result.insert(result.end(), others.begin(), others.end());
  return result;
}

/// Feeds `ids` from where the cache stands; the logits of the last, then those of three more tokens, each
/// alone.
std::vector<float> go_on(Runner& runner, SequenceCache& cache, std::span<const TokenId> ids) {
  std::vector<float> all = runner.last_logits(cache, ids.subspan(cache.length()));
  for (TokenId id : {311, 312, 313}) {
    const auto logits = runner.logits(cache, {&id, 1}, layers::Phase::kDecode);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

std::vector<float> cold(Runner& runner, std::span<const TokenId> ids) {
  SequenceCache cache = runner.new_cache();
  return go_on(runner, cache, ids);
}

template <typename Check>
void on_each_tale(Check&& check) {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    Runner runner(fs::path(LANNER_MODELS_DIR) / name, tested_ops().back(), 1);
    check(runner);
  }
}

/// Overwrites every key and value at positions [length, end of its block) with NaN.
void poison_beyond(SequenceCache& cache, std::size_t layers) {
  const std::size_t length = cache.length();
  const std::size_t first = length % device::kKvBlock;
  if (first == 0) return;
  cache.reserve(1);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const cache::KvCache& kv = cache.kv(layer);
    const device::KvBlocks blocks = kv.blocks();
    const std::size_t row = kv.geometry().head_dim;
    for (void* const block : {blocks.keys[length / device::kKvBlock - blocks.first_block],
                              blocks.values[length / device::kKvBlock - blocks.first_block]})
      for (std::size_t head = 0; head < kv.geometry().kv_heads; ++head)
        std::fill_n(static_cast<float*>(block) + (head * device::kKvBlock + first) * row,
                    (device::kKvBlock - first) * row, std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace

TEST_CASE("a prompt that starts from a stored snapshot gives the bits of a cold run at every checkpoint") {
  on_each_tale([](Runner& runner) {
    const auto ids = random_ids(257, 1);
    cache::PrefixStore prefixes(std::size_t{1} << 30);
    SequenceCache cache = runner.new_cache();
    const std::vector<std::size_t> checkpoints = {1, 64, 127, 129, 200, 257};
    for (std::size_t length : checkpoints) {
      runner.last_logits(cache, std::span(ids).subspan(cache.length(), length - cache.length()));
      prefixes.insert(kKey, std::span(ids).first(length), cache, CheckpointClass::kUser);
    }
    for (std::size_t length : checkpoints) {
      CAPTURE(length);
      const auto prompt = parted(ids, length, 30, length);
      cache::PrefixLookup found = prefixes.find(kKey, prompt, prompt.size() - 1);
      REQUIRE(found.cache.has_value());
      CHECK(found.length == length);
      CHECK(go_on(runner, *found.cache, prompt) == cold(runner, prompt));
    }
  });
}

TEST_CASE("is_27: rows beyond the length of a cut sequence are never read") {
  Runner runner(fs::path(LANNER_MODELS_DIR) / "tale-gemma4", device::cpu_ops(detect_isa()), 1);
  const std::size_t layers = runner.model().cache_layers().size();
  for (std::size_t stored : {120U, 300U}) {  // inside the window of 128, and past it
    CAPTURE(stored);
    const auto ids = random_ids(stored, 2);
    SequenceCache cache = runner.new_cache();
    runner.last_logits(cache, ids);
    std::size_t cuts = 0;
    for (std::size_t length = 1; length <= stored; length += 16) {
      if (!cache.can_truncate(length)) continue;
      ++cuts;
      CAPTURE(length);
      SequenceCache cut = cache.fork_at(length);
      poison_beyond(cut, layers);
      const auto prompt = parted(ids, length, 20, length);
      CHECK(go_on(runner, cut, prompt) == cold(runner, prompt));
    }
    CHECK(cuts >= 3);
  }
}

TEST_CASE("is_28, is_29: forks of one prompt, continued together in one step, equal runs that were alone") {
  on_each_tale([](Runner& runner) {
    const auto prompt = random_ids(150, 3);
    SequenceCache first = runner.new_cache();
    runner.last_logits(first, prompt);
    std::vector<SequenceCache> forks;
    std::vector<SequenceCache*> caches;
    for (int i = 0; i < 6; ++i) forks.push_back(first.fork());
    for (SequenceCache& fork : forks) caches.push_back(&fork);
    std::vector<std::vector<TokenId>> tails;
    for (std::size_t i = 0; i < forks.size(); ++i) tails.push_back(random_ids(1 + 13 * i, 40 + i));
    const auto together = runner.logits(caches, tails);
    for (std::size_t i = 0; i < forks.size(); ++i) {
      SequenceCache alone = runner.new_cache();
      runner.last_logits(alone, prompt);
      CHECK(runner.logits(alone, tails[i]) == together[i]);
    }
    CHECK(first.length() == 150);
    const auto rest = random_ids(3, 99);
    SequenceCache untouched = runner.new_cache();
    runner.last_logits(untouched, prompt);
    CHECK(runner.last_logits(first, rest) == runner.last_logits(untouched, rest));
  });
}

}  // namespace lanner::test
