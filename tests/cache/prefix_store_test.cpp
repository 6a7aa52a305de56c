// SPDX-License-Identifier: MIT
#include "cache/prefix_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/error.h"
#include "toy_sequence.h"

namespace lanner::cache {
namespace {

const PrefixKey kKey = {.model = "m", .kv_types = "f32", .adapters = ""};
constexpr std::size_t kPlenty = std::size_t{1} << 30;

std::vector<TokenId> ids_from(TokenId first, std::size_t count) {
  std::vector<TokenId> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<TokenId> first_of(const std::vector<TokenId>& ids, std::size_t count) {
  return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count)};
}

CacheSpec attention_only() {
  CacheSpec spec = toy_spec();
  spec.layers.pop_back();
  return spec;
}

struct Fed {
  explicit Fed(const std::vector<TokenId>& ids) : cache(toy_spec(), pool) { forward.append(cache, ids); }
  ToyForward forward;
  BlockPool pool;
  SequenceCache cache;
};

void store(PrefixStore& prefixes, const std::vector<TokenId>& ids, CheckpointClass kind,
           const PrefixKey& key = kKey) {
  Fed fed(ids);
  prefixes.insert(key, ids, fed.cache, kind);
}

std::size_t found_length(PrefixStore& prefixes, const std::vector<TokenId>& ids,
                         const PrefixKey& key = kKey) {
  return prefixes.find(key, ids, ids.size() - 1).length;
}

}  // namespace

TEST_CASE("a prompt that goes on where a stored one ended starts from its snapshot") {
  PrefixStore prefixes(kPlenty);
  const auto system = ids_from(0, 130);
  store(prefixes, system, CheckpointClass::kSystem);
  const auto prompt = joined(system, ids_from(1000, 40));
  PrefixLookup found = prefixes.find(kKey, prompt, prompt.size() - 1);
  REQUIRE(found.cache.has_value());
  CHECK(found.length == 130);
  CHECK(found.cache->length() == 130);
  CHECK_FALSE(found.branch_point.has_value());
  ToyForward forward;
  forward.append(*found.cache, ids_from(1000, 40));
  CHECK(forward.probe(*found.cache) == forward.probe_alone(prompt));
}

TEST_CASE(
    "a recurrent state is never cut: a prompt that parts inside a stored one starts at a checkpoint before") {
  PrefixStore prefixes(kPlenty);
  const auto conversation = ids_from(0, 400);
  store(prefixes, first_of(conversation, 100), CheckpointClass::kUser);
  store(prefixes, conversation, CheckpointClass::kEnd);
  CHECK(found_length(prefixes, joined(first_of(conversation, 300), ids_from(5000, 9))) == 100);
  CHECK(found_length(prefixes, conversation) == 100);  // one token must be fed
  CHECK(found_length(prefixes, joined(conversation, {1})) == 400);
  CHECK(found_length(prefixes, joined(first_of(conversation, 99), ids_from(5000, 9))) == 0);
  CHECK(found_length(prefixes, ids_from(9000, 50)) == 0);
}

TEST_CASE("layers that only attend are cut wherever their windows are whole") {
  PrefixStore prefixes(kPlenty);
  const auto ids = ids_from(0, 400);
  SequenceCache cache(attention_only());
  cache.reserve(ids.size());
  cache.advance(ids.size());
  prefixes.insert(kKey, ids, cache, CheckpointClass::kEnd);
  // The window of 100 keeps blocks from position 256 on: cuts down to 356 have all they see.
  CHECK(found_length(prefixes, ids) == 399);
  CHECK(found_length(prefixes, joined(first_of(ids, 360), {7777})) == 360);
  CHECK(found_length(prefixes, joined(first_of(ids, 300), {7777})) == 0);
}

TEST_CASE("a known beginning without a snapshot asks for a checkpoint at the branch point") {
  PrefixStore prefixes(kPlenty);
  const auto document = ids_from(0, 1000);
  store(prefixes, document, CheckpointClass::kEnd);
  const auto second = joined(first_of(document, 900), ids_from(5000, 60));
  const PrefixLookup found = prefixes.find(kKey, second, second.size() - 1);
  CHECK(found.length == 0);
  CHECK(found.branch_point == std::optional<std::size_t>(896));
  store(prefixes, first_of(second, 896), CheckpointClass::kBranch);
  const auto third = joined(first_of(document, 900), ids_from(7000, 60));
  const PrefixLookup again = prefixes.find(kKey, third, third.size() - 1);
  CHECK(again.length == 896);
  CHECK_FALSE(again.branch_point.has_value());
  const auto near = joined(first_of(document, 200), ids_from(7000, 60));
  CHECK_FALSE(prefixes.find(kKey, near, near.size() - 1).branch_point.has_value());
}

TEST_CASE("a hit leaves its entry in place: two sequences start from one snapshot and go apart") {
  PrefixStore prefixes(kPlenty);
  const auto system = ids_from(0, 200);
  store(prefixes, system, CheckpointClass::kSystem);
  const auto prompt = joined(system, {1});
  PrefixLookup a = prefixes.find(kKey, prompt, 200);
  PrefixLookup b = prefixes.find(kKey, prompt, 200);
  REQUIRE(a.cache.has_value());
  REQUIRE(b.cache.has_value());
  ToyForward forward;
  forward.append(*a.cache, ids_from(300, 90));
  forward.append(*b.cache, ids_from(600, 90));
  CHECK(forward.probe(*a.cache) == forward.probe_alone(joined(system, ids_from(300, 90))));
  CHECK(forward.probe(*b.cache) == forward.probe_alone(joined(system, ids_from(600, 90))));
  CHECK(found_length(prefixes, prompt) == 200);
  CHECK(prefixes.stats().hits == 3);
  CHECK(prefixes.stats().reused_tokens == 600);
}

TEST_CASE("an entry is only found under its own model, storage and adapters") {
  PrefixStore prefixes(kPlenty);
  const auto ids = ids_from(0, 100);
  const auto prompt = joined(ids, {1});
  const PrefixKey adapter = {.model = "m", .kv_types = "f32", .adapters = "a@1"};
  store(prefixes, ids, CheckpointClass::kUser, adapter);
  CHECK(found_length(prefixes, prompt, adapter) == 100);
  CHECK(found_length(prefixes, prompt) == 0);
  CHECK(found_length(prefixes, prompt, {.model = "n", .kv_types = "f32", .adapters = "a@1"}) == 0);
  CHECK(found_length(prefixes, prompt, {.model = "m", .kv_types = "bf16", .adapters = "a@1"}) == 0);
  store(prefixes, ids, CheckpointClass::kUser);
  prefixes.forget_where([](const PrefixKey& key) { return key.adapters == "a@1"; });
  CHECK(found_length(prefixes, prompt, adapter) == 0);
  CHECK(found_length(prefixes, prompt) == 100);
  prefixes.forget(kKey);
  CHECK(prefixes.size_bytes() == 0);
  CHECK(prefixes.stats().checkpoints == 0);
}

TEST_CASE("short of bytes, ends go before intervals, branches, users and systems, and old before new") {
  PrefixStore prefixes(kPlenty);
  using enum CheckpointClass;
  const std::vector<CheckpointClass> kinds = {kSystem, kEnd, kUser, kInterval, kEnd, kBranch, kUser};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    store(prefixes, ids_from(1000 * static_cast<TokenId>(i), 70), kinds[i]);
  const auto kept = [&](std::size_t i) {
    return found_length(prefixes, joined(ids_from(1000 * static_cast<TokenId>(i), 70), {1})) == 70;
  };
  CHECK(kept(1));  // now the first end is the newer one
  for (std::size_t victim : {4U, 1U, 3U, 5U, 2U, 6U, 0U}) {
    CAPTURE(victim);
    const std::size_t before = prefixes.stats().checkpoints;
    CHECK(prefixes.evict_one());
    CHECK(prefixes.stats().checkpoints == before - 1);
    if (prefixes.stats().checkpoints == 0) break;
    CHECK_FALSE(kept(victim));
  }
  CHECK_FALSE(prefixes.evict_one());
  CHECK(prefixes.size_bytes() == 0);
}

TEST_CASE("what nobody asks for any more goes even when its class would last") {
  PrefixStore prefixes(kPlenty);
  store(prefixes, ids_from(0, 64), CheckpointClass::kSystem);
  store(prefixes, ids_from(1000, 64), CheckpointClass::kUser);
  const auto asked = joined(ids_from(1000, 64), {1});
  for (std::size_t i = 0; i <= PrefixStore::kLeastAgePerClass; ++i)
    CHECK(found_length(prefixes, asked) == 64);
  CHECK(prefixes.evict_one());
  CHECK(found_length(prefixes, asked) == 64);
}

TEST_CASE("who talks now finds the last turn in a store that is full of other systems") {
  PrefixStore room(kPlenty);
  store(room, ids_from(0, 64), CheckpointClass::kUser);
  PrefixStore prefixes(30 * room.size_bytes());
  for (TokenId chat = 0; chat < 150; ++chat) {
    store(prefixes, ids_from(1000 * chat, 64), CheckpointClass::kSystem);
    const auto turn = joined(ids_from(1000 * chat, 64), ids_from(1000 * chat + 500, 64));
    store(prefixes, turn, CheckpointClass::kUser);
    store(prefixes, joined(turn, ids_from(1000 * chat + 700, 64)), CheckpointClass::kEnd);
    CAPTURE(chat);
    CHECK(found_length(prefixes, joined(turn, ids_from(1000 * chat + 800, 70))) == 128);
  }
}

TEST_CASE("the store keeps under its cap, counts shared blocks once and refuses what is too large alone") {
  const auto ids = ids_from(0, 640);
  Fed fed(ids_from(0, 64));
  const BlockPool& pool = fed.pool;
  PrefixStore prefixes(kPlenty);
  prefixes.insert(kKey, ids_from(0, 64), fed.cache, CheckpointClass::kInterval);
  for (std::size_t length = 128; length <= 640; length += 64) {
    fed.forward.append(fed.cache, ids_from(static_cast<TokenId>(length) - 64, 64));
    prefixes.insert(kKey, first_of(ids, length), fed.cache, CheckpointClass::kInterval);
  }
  fed.cache = SequenceCache(CacheSpec{});
  CHECK(prefixes.stats().checkpoints == 10);
  CHECK(prefixes.size_bytes() == pool.used_bytes());
  const CacheBytes kept = prefixes.stats().bytes;
  const auto full = std::get<FullSpec>(toy_spec().layers.front());
  CHECK(kept.full == 10 * kv_block_bytes(device::KvType::kF32, full.kv_heads, full.head_dim));
  CHECK(kept.total() == prefixes.size_bytes());

  PrefixStore small(prefixes.size_bytes() / 2);
  std::size_t largest = 0;
  for (TokenId i = 0; i < 40; ++i) {
    store(small, ids_from(1000 * i, 100), CheckpointClass::kUser);
    largest = std::max(largest, small.size_bytes());
  }
  CHECK(largest <= small.capacity_bytes());
  CHECK(small.stats().evictions > 0);
  CHECK(found_length(small, joined(ids_from(39'000, 100), {1})) == 100);
  const std::size_t before = small.stats().checkpoints;
  store(small, ids_from(500'000, 3000), CheckpointClass::kSystem);
  CHECK(small.stats().checkpoints == before);
  PrefixStore off(0);
  store(off, ids, CheckpointClass::kSystem);
  CHECK(found_length(off, joined(ids, {1})) == 0);
}

TEST_CASE("a branch holds a limited number of checkpoints and gives up the least lasting") {
  PrefixStore prefixes(kPlenty);
  const auto ids = ids_from(0, 640);
  ToyForward forward;
  SequenceCache cache(toy_spec());
  for (std::size_t length = 10; length <= 640; length += 10) {
    forward.append(cache, {ids.data() + length - 10, 10});
    prefixes.insert(kKey, first_of(ids, length), cache,
                    length == 10 ? CheckpointClass::kSystem : CheckpointClass::kInterval);
  }
  CHECK(prefixes.stats().checkpoints == PrefixStore::kMaxPerBranch);
  CHECK(found_length(prefixes, joined(ids, {1})) == 640);
  CHECK(found_length(prefixes, joined(first_of(ids, 15), {9999})) == 10);
}

TEST_CASE("random conversations: every hit holds exactly what a new sequence would") {
  std::minstd_rand random(5);
  ToyForward forward;
  const BlockPool pool;
  PrefixStore prefixes(400'000);
  std::vector<std::vector<TokenId>> seen = {{}};
  std::size_t hits = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<TokenId> ids = seen[random() % seen.size()];
    if (random() % 2 == 0 && !ids.empty())
      ids.resize(ids.size() - random() % std::min<std::size_t>(ids.size(), 100));
    for (std::size_t added = 1 + random() % 120; added > 0; --added)
      ids.push_back(static_cast<TokenId>(random() % 5));
    PrefixLookup found = prefixes.find(kKey, ids, ids.size() - 1);
    SequenceCache cache = found.cache ? std::move(*found.cache) : SequenceCache(toy_spec(), pool);
    REQUIRE(cache.length() == found.length);
    hits += found.length > 0;
    forward.append(cache, std::span(ids).subspan(found.length));
    if (round % 5 == 0) CHECK(forward.probe(cache) == forward.probe_alone(ids));
    prefixes.insert(kKey, ids, cache, static_cast<CheckpointClass>(random() % 5));
    CHECK(prefixes.size_bytes() <= prefixes.capacity_bytes());
    if (ids.size() < 600) seen.push_back(ids);
  }
  CHECK(hits > 20);
  prefixes.clear();
  CHECK(pool.used_bytes() == 0);
}

TEST_CASE("a snapshot under another number of tokens is refused") {
  PrefixStore prefixes(kPlenty);
  Fed fed(ids_from(0, 10));
  CHECK_THROWS_AS(prefixes.insert(kKey, ids_from(0, 9), fed.cache, CheckpointClass::kEnd), Error);
}

}  // namespace lanner::cache
