// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>

#include "core/cpu_features.h"
#include "models/fixture_case.h"
#include "random.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;
using device::KvType;

constexpr KvType kTypes[] = {KvType::kBF16, KvType::kAffine8, KvType::kAffine6, KvType::kAffine4};

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed) {
  std::vector<TokenId> ids;
  for (float value : random_uniform(count, seed, 300, 7000)) ids.push_back(static_cast<TokenId>(value));
  return ids;
}

}  // namespace

TEST_CASE("with any storage of keys and values, pieces, a draft and a fork change no bit") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"})
    for (KvType type : kTypes) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(type));
      Runner runner(fs::path(LANNER_MODELS_DIR) / name, detect_isa(), 1);
      const auto ids = random_ids(170, 11);
      const auto want = runner.tail_logits(type, ids, ids.size());
      CHECK(runner.tail_logits(type, ids, 7) == want);
      CHECK(runner.tail_logits(type, ids, 64) == want);

      // All twelve as one draft of a fork, after another draft was undone.
      cache::SequenceCache cache = runner.new_cache(type);
      runner.last_logits(cache, std::span(ids).first(158));
      cache::SequenceCache fork = cache.fork();
      {
        auto undone = fork.begin_draft(20);
        REQUIRE(undone.has_value());
        runner.last_logits(fork, random_ids(20, 12));
      }
      auto draft = fork.begin_draft(12);
      REQUIRE(draft.has_value());
      CHECK(runner.logits(fork, std::span(ids).subspan(158), layers::Phase::kVerify) == want);
      draft->commit(12);
      CHECK(fork.length() == 170);
    }
}

TEST_CASE("keys split over threads by segments give the bits of one thread") {
  for (KvType type : {KvType::kF32, KvType::kAffine4}) {
    const fs::path folder = fs::path(LANNER_MODELS_DIR) / "tale-qwen3_5";
    const auto ids = random_ids(560, 13);
    Runner one(folder, detect_isa(), 1);
    Runner two(folder, detect_isa(), 2);
    CHECK(one.tail_logits(type, ids, 512) == two.tail_logits(type, ids, 512));
  }
}

TEST_CASE("a sequence takes fewer bytes the fewer bits its keys and values have") {
  Runner runner(fs::path(LANNER_MODELS_DIR) / "tale-gemma4", detect_isa(), 1);
  std::size_t before = SIZE_MAX;
  for (KvType type : {KvType::kF32, KvType::kBF16, KvType::kAffine8, KvType::kAffine6, KvType::kAffine4}) {
    cache::SequenceCache cache = runner.new_cache(type);
    cache.reserve(128);
    CHECK(cache.size_bytes() < before);
    before = cache.size_bytes();
  }
}

}  // namespace lanner::test
