// SPDX-License-Identifier: MIT
#include "toy_sequence.h"

#include <algorithm>
#include <random>

namespace lanner::cache {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 8;
constexpr std::size_t kFull = 0;
constexpr std::size_t kSliding = 1;
constexpr std::size_t kShared = 2;
constexpr std::size_t kRecurrent = 3;
constexpr RecurrentSpec kDelta{
    .taps = 4, .key_heads = 1, .value_heads = 2, .key_dim = 8, .value_dim = 8, .chunk = 16};

}  // namespace

CacheSpec toy_spec() {
  return {.layers = {FullSpec{kHeads, kHeadDim}, SlidingSpec{kHeads, kHeadDim, 100}, SharedSpec{.donor = 1},
                     kDelta},
          .kv_type = device::KvType::kF32};
}

ToyForward::ToyForward()
    : ops_(device::cpu_ops(Isa::kReference)), stream_(device::cpu_kernels(Isa::kReference), 1) {}

Tensor ToyForward::rows(std::span<const TokenId> ids, const Shape& shape, std::uint64_t salt) {
  const Tensor x = arena_.floats(shape);
  const std::size_t width = x.floats().size() / ids.size();
  for (std::size_t row = 0; row < ids.size(); ++row) {
    std::minstd_rand random(static_cast<unsigned>(salt * 7919 + static_cast<std::uint64_t>(ids[row]) + 1));
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::ranges::generate(x.floats().subspan(row * width, width), [&] { return uniform(random); });
  }
  return x;
}

void ToyForward::append(SequenceCache& cache, std::span<const TokenId> ids) {
  arena_.reset();
  const auto count = static_cast<std::int64_t>(ids.size());
  cache.reserve(ids.size());
  for (std::size_t layer : {kFull, kSliding})
    cache.kv(layer).write(ops_, stream_, rows(ids, {count, kHeads, kHeadDim}, layer),
                          rows(ids, {count, kHeads, kHeadDim}, 10 + layer), cache.length());
  RecurrentCache& recurrent = cache.recurrent(kRecurrent);
  const auto channels = static_cast<std::int64_t>(kDelta.conv_channels());
  recurrent.append_conv(ops_, stream_, rows(ids, {count, channels}, 20));
  const Tensor beta = rows(ids, {count, 2}, 21);
  const Tensor log_decay = rows(ids, {count, 2}, 22);
  for (float& v : beta.floats()) v = std::abs(v);
  for (float& v : log_decay.floats()) v = -std::abs(v);
  const Tensor qkv = rows(ids, {count, channels}, 23);
  for (float& v : qkv.floats()) v *= 0.35F;  // keys of norm 1 at most, or the rule diverges
  recurrent.append_delta(ops_, stream_, arena_.floats({count, 2 * 8}), qkv, beta, log_decay);
  cache.advance(ids.size());
}

std::vector<float> ToyForward::probe(SequenceCache& cache) {
  arena_.reset();
  std::vector<float> seen;
  const TokenId fixed = 12345;
  const Tensor q = rows({&fixed, 1}, {1, kHeads, kHeadDim}, 30);
  for (std::size_t layer : {kFull, kSliding, kShared}) {
    if (cache.length() == 0) break;
    const KvCache& kv = cache.kv(layer);
    const auto begin = static_cast<std::int32_t>(kv.visible_from(cache.length()));
    const auto end = static_cast<std::int32_t>(cache.length());
    const Tensor out = arena_.floats(q.shape);
    const device::AttentionCall call = {.out = out,
                                        .q = q,
                                        .kv_heads = kHeads,
                                        .scale = 1,
                                        .kv = kv.blocks(),
                                        .key_begin = {&begin, 1},
                                        .key_end = {&end, 1}};
    ops_.attention(stream_, {&call, 1});
    seen.insert(seen.end(), out.floats().begin(), out.floats().end());
  }
  const RecurrentCache& recurrent = cache.recurrent(kRecurrent);
  std::vector<float> state(kDelta.value_heads * kDelta.key_dim * kDelta.value_dim);
  recurrent.read_state(ops_, stream_, state.data());
  seen.insert(seen.end(), state.begin(), state.end());
  seen.insert(seen.end(), recurrent.conv_history(), recurrent.conv_history() + 3 * kDelta.conv_channels());
  return seen;
}

std::vector<float> ToyForward::probe_alone(std::span<const TokenId> ids) {
  SequenceCache cache(toy_spec());
  for (const TokenId& id : ids) append(cache, {&id, 1});
  return probe(cache);
}

}  // namespace lanner::cache
