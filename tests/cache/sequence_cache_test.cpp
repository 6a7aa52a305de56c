// SPDX-License-Identifier: MIT
#include "cache/sequence_cache.h"

#include <doctest/doctest.h>

#include <vector>

namespace lanner::cache {
namespace {

constexpr std::size_t kWindow = 100;
constexpr std::size_t kHeads = 2;
constexpr std::size_t kHeadDim = 8;

CacheSpec spec() {
  return {
      .layers = {FullSpec{kHeads, kHeadDim}, SlidingSpec{kHeads, kHeadDim, kWindow}, SharedSpec{.donor = 1}},
      .kv_type = device::KvType::kF32};
}

/// Appends `rows` positions whose key and value elements are all the position's index.
void append(SequenceCache& cache, const device::Ops& ops, std::size_t rows) {
  cache.reserve(rows);
  std::vector<float> values;
  for (std::size_t row = 0; row < rows; ++row)
    values.insert(values.end(), kHeads * kHeadDim, static_cast<float>(cache.length() + row));
  const Tensor x{values.data(),
                 DType::kF32,
                 {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(kHeads),
                  static_cast<std::int64_t>(kHeadDim)},
                 DeviceKind::kCpu};
  device::Stream stream(ops, 1);
  for (std::size_t layer : {0U, 1U}) cache.kv(layer).write(ops, stream, x, x, cache.length());
  cache.advance(rows);
}

float stored_key(SequenceCache& cache, std::size_t layer, std::size_t position) {
  const device::KvBlocks blocks = cache.kv(layer).blocks();
  const auto* block =
      static_cast<const float*>(blocks.keys[position / device::kKvBlock - blocks.first_block]);
  return block[position % device::kKvBlock * kHeadDim];
}

}  // namespace

TEST_CASE("a sliding layer keeps its window in bounded memory while a full layer keeps everything") {
  const device::Ops ops = device::cpu_ops(Isa::kReference);
  SequenceCache cache(spec());
  std::size_t largest = 0;
  for (int step = 0; step < 400; ++step) {
    append(cache, ops, step % 7 + 1);
    largest = std::max(largest, cache.kv(1).size_bytes());
    const std::size_t next = cache.length();
    for (std::size_t position : {cache.kv(1).visible_from(next), next - 1})
      CHECK(stored_key(cache, 1, position) == static_cast<float>(position));
  }
  const std::size_t block_bytes = kHeads * device::kKvBlock * kHeadDim * sizeof(float);
  CHECK(largest <= 2 * block_bytes * ((kWindow + 7) / device::kKvBlock + 2));
  for (std::size_t position = 0; position < cache.length(); position += 61)
    CHECK(stored_key(cache, 0, position) == static_cast<float>(position));
}

TEST_CASE("a query sees itself and window - 1 positions before it") {
  SequenceCache cache(spec());
  CHECK(cache.kv(1).visible_from(0) == 0);
  CHECK(cache.kv(1).visible_from(kWindow - 1) == 0);
  CHECK(cache.kv(1).visible_from(kWindow) == 1);
  CHECK(cache.kv(0).visible_from(12345) == 0);
}

TEST_CASE("a shared layer reads its donor") {
  SequenceCache cache(spec());
  CHECK(&cache.kv(2) == &cache.kv(1));
}

TEST_CASE("positions that a window still needs survive an undone draft") {
  const device::Ops ops = device::cpu_ops(Isa::kReference);
  SequenceCache cache(spec());
  append(cache, ops, 3 * device::kKvBlock);
  const std::size_t length = cache.length();
  {
    auto draft = cache.begin_draft(64);
    REQUIRE(draft.has_value());
    append(cache, ops, 64);
    CHECK(cache.length() == length + 64);
  }
  CHECK(cache.length() == length);
  for (std::size_t position = cache.kv(1).visible_from(length); position < length; ++position)
    CHECK(stored_key(cache, 1, position) == static_cast<float>(position));
}

TEST_CASE("a committed draft keeps exactly what was accepted, and only the first commit counts") {
  const device::Ops ops = device::cpu_ops(Isa::kReference);
  SequenceCache cache(spec());
  append(cache, ops, 10);
  auto draft = cache.begin_draft(8);
  REQUIRE(draft.has_value());
  append(cache, ops, 8);
  draft->commit(3);
  draft->commit(8);
  CHECK(cache.length() == 13);
  CHECK(cache.begin_draft(8).has_value());
}

TEST_CASE("a draft longer than the limit is refused as a value") {
  SequenceCache cache(spec());
  CHECK_FALSE(cache.begin_draft(SequenceCache::kMaxDraft + 1).has_value());
}

TEST_CASE("truncation is possible only where the window's positions are still there") {
  const device::Ops ops = device::cpu_ops(Isa::kReference);
  SequenceCache cache(spec());
  for (int i = 0; i < 10; ++i) append(cache, ops, 64);
  CHECK(cache.kv(0).can_truncate(5));
  CHECK(cache.kv(1).can_truncate(cache.length()));
  CHECK_FALSE(cache.kv(1).can_truncate(200));
}

}  // namespace lanner::cache
