// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <random>

#include "core/error.h"
#include "toy_sequence.h"

namespace lanner::cache {
namespace {

struct Tracked {
  SequenceCache cache;
  std::vector<TokenId> ids;
};

class RandomForks {
 public:
  explicit RandomForks(unsigned seed) : random_(seed) {
    live_.push_back({SequenceCache(toy_spec(), pool_), {}});
  }

  void act() {
    const std::size_t chosen = below(live_.size());
    switch (below(8)) {
      case 0:
        return fork(chosen, live_[chosen].ids.size());
      case 1:
        return fork(chosen, live_[chosen].ids.size() - std::min(below(150), live_[chosen].ids.size()));
      case 2:
        if (live_.size() > 1) live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(chosen));
        return;
      case 3:
      case 4:
        return draft(live_[chosen]);
      default:
        return append(live_[chosen], 1 + below(below(4) == 0 ? 150 : 9));
    }
  }

  void check_all() {
    for (Tracked& sequence : live_) {
      REQUIRE(sequence.cache.length() == sequence.ids.size());
      CHECK(forward_.probe(sequence.cache) == forward_.probe_alone(sequence.ids));
    }
    std::size_t most = 0;
    for (const Tracked& sequence : live_) most += sequence.cache.size_bytes();
    CHECK(pool_.used_bytes() <= most);
  }

  void drop_all() { live_.clear(); }
  std::size_t used_bytes() const { return pool_.used_bytes(); }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::vector<TokenId> new_tokens(std::size_t count) {
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids) id = static_cast<TokenId>(below(1000));
    return ids;
  }

  void append(Tracked& sequence, std::size_t count) {
    const std::vector<TokenId> ids = new_tokens(count);
    forward_.append(sequence.cache, ids);
    sequence.ids.insert(sequence.ids.end(), ids.begin(), ids.end());
  }

  void draft(Tracked& sequence) {
    const std::vector<TokenId> ids = new_tokens(1 + below(SequenceCache::kMaxDraft));
    auto draft = sequence.cache.begin_draft(ids.size());
    REQUIRE(draft.has_value());
    forward_.append(sequence.cache, ids);
    const auto kept = static_cast<std::ptrdiff_t>(below(ids.size() + 1));
    draft->commit(static_cast<std::size_t>(kept));
    sequence.ids.insert(sequence.ids.end(), ids.begin(), ids.begin() + kept);
  }

  void fork(std::size_t chosen, std::size_t length) {
    const Tracked& from = live_[chosen];
    if (live_.size() >= 6 || from.ids.empty()) return;
    if (!from.cache.can_truncate(length)) {
      if (length > 0) CHECK_THROWS_AS(from.cache.fork_at(length), Error);
      return;
    }
    const std::vector<TokenId> ids(from.ids.begin(), from.ids.begin() + static_cast<std::ptrdiff_t>(length));
    live_.push_back({from.cache.fork_at(length), ids});
  }

  std::minstd_rand random_;
  BlockPool pool_;
  ToyForward forward_;
  std::vector<Tracked> live_;
};

}  // namespace

TEST_CASE("forks never disturb each other: each equals a sequence that was alone") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    RandomForks forks(seed);
    for (int action = 0; action < 160; ++action) {
      forks.act();
      if (action % 40 == 39) forks.check_all();
    }
    forks.drop_all();
    CHECK(forks.used_bytes() == 0);
  }
}

TEST_CASE("a fork costs nothing until one side writes, and then one block a layer") {
  ToyForward forward;
  const BlockPool pool;
  SequenceCache cache(toy_spec(), pool);
  const std::vector<TokenId> ids(1000, 7);
  forward.append(cache, ids);
  const std::size_t alone = pool.used_bytes();
  CHECK(cache.size_bytes() == alone);
  SequenceCache copy = cache.fork();
  CHECK(pool.used_bytes() == alone);
  forward.append(copy, {ids.data(), 1});
  CHECK(pool.used_bytes() > alone);
  CHECK(pool.used_bytes() < alone + alone / 3);
  CHECK(cache.length() == 1000);
}

TEST_CASE("forks that end a chunk in one operation never write over the state that another reads") {
  const RecurrentSpec spec{.taps = 4, .key_heads = 1, .value_heads = 2, .key_dim = 8, .value_dim = 8};
  static std::size_t folds = 0;
  device::Ops ops = device::cpu_ops(Isa::kReference);
  ops.delta_net = [](device::Stream& stream, std::span<const device::DeltaNetCall> calls) {
    for (const device::DeltaNetCall& call : calls) {
      for (const device::DeltaNetCall& other : calls)
        CHECK((&call == &other || call.next_state != other.state));
      folds += call.next_state != nullptr ? 1U : 0U;
    }
    device::cpu_ops(Isa::kReference).delta_net(stream, calls);
  };
  device::Stream stream(device::cpu_kernels(Isa::kReference), 1);
  Arena arena;
  const auto append_to = [&](std::span<RecurrentCache* const> caches, std::int64_t rows) {
    std::vector<DeltaAppend> appends;
    for (RecurrentCache* cache : caches) {
      cache->reserve(static_cast<std::size_t>(rows));
      appends.push_back({.cache = cache,
                         .out = arena.floats({rows, 16}),
                         .qkv = arena.floats({rows, static_cast<std::int64_t>(spec.conv_channels())}),
                         .beta = arena.floats({rows, 2}),
                         .log_decay = arena.floats({rows, 2})});
    }
    append_delta(ops, stream, appends);
  };
  RecurrentCache first(spec, BlockPool());
  append_to(std::array{&first}, 60);
  RecurrentCache second = first.fork();
  RecurrentCache third = first.fork();
  append_to(std::array{&first, &second, &third}, 8);
  CHECK(folds == 3);
}

TEST_CASE("a draft over the end of a chunk takes no third state where a snapshot shares the first") {
  const auto used_in_draft = [](bool has_snapshot) {
    const BlockPool pool;
    ToyForward forward;
    SequenceCache sequence(toy_spec(), pool);
    forward.append(sequence, std::vector<TokenId>(40, 3));
    std::optional<SequenceCache> snapshot;
    if (has_snapshot) snapshot = sequence.fork();
    const std::optional<Draft> draft = sequence.begin_draft(30);
    REQUIRE(draft);
    forward.append(sequence, std::vector<TokenId>(30, 4));
    return pool.used_bytes() - (has_snapshot ? snapshot->size_bytes() : 0);
  };
  CHECK(used_in_draft(true) < used_in_draft(false));
}

TEST_CASE("a sequence that owns its states shares none with its fork") {
  const BlockPool pool;
  ToyForward forward;
  SequenceCache first(toy_spec(), pool);
  forward.append(first, std::vector<TokenId>(64, 3));
  SequenceCache second = first.fork();
  const std::size_t shared = pool.used_bytes();
  second.own_states();
  CHECK(pool.used_bytes() == shared + 2 * 8 * 8 * sizeof(float));
  CHECK(forward.probe(first) == forward.probe(second));
}

TEST_CASE("a sequence without recurrent layers can be cut wherever its windows are whole") {
  CacheSpec spec = toy_spec();
  spec.layers.pop_back();
  SequenceCache empty(spec);
  CHECK_FALSE(empty.can_truncate(0));
  CHECK(empty.fork().length() == 0);

  ToyForward forward;
  SequenceCache cache(toy_spec());
  forward.append(cache, std::vector<TokenId>(500, 3));
  CHECK(cache.can_truncate(500));
  CHECK_FALSE(cache.can_truncate(499));
  CHECK_FALSE(cache.can_truncate(501));
}

TEST_CASE("a full pool refuses to grow one sequence and leaves the others as they were") {
  ToyForward forward;
  const BlockPool pool(200'000);
  SequenceCache cache(toy_spec(), pool);
  forward.append(cache, std::vector<TokenId>(300, 3));
  const auto before = forward.probe(cache);
  SequenceCache copy = cache.fork();
  CHECK_THROWS_AS(copy.reserve(3000), Error);
  CHECK(copy.length() == 300);
  CHECK(forward.probe(cache) == before);
  CHECK(forward.probe(copy) == before);
}

TEST_CASE("a sequence with an open draft cannot be forked") {
  SequenceCache cache(toy_spec());
  auto draft = cache.begin_draft(4);
  REQUIRE(draft.has_value());
  CHECK_THROWS_AS(cache.fork(), Error);
}

}  // namespace lanner::cache
