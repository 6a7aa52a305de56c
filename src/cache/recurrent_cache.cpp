// SPDX-License-Identifier: MIT
#include "cache/recurrent_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/error.h"

namespace lanner::cache {

using device::kDeltaChunk;

RecurrentCache::RecurrentCache(const RecurrentSpec& spec)
    : spec_(spec),
      slot_(make_slot()),
      conv_(Buffer::zeroed((spec.taps - 1) * spec.conv_channels() * sizeof(float))) {}

RecurrentCache::Slot RecurrentCache::make_slot() const {
  const std::size_t heads = spec_.value_heads;
  return {.state = Buffer::zeroed(heads * spec_.key_dim * spec_.value_dim * sizeof(float)),
          .keys = Buffer(spec_.key_heads * kDeltaChunk * spec_.key_dim * sizeof(float)),
          .values = Buffer(heads * kDeltaChunk * spec_.value_dim * sizeof(float)),
          .decay = Buffer(heads * kDeltaChunk * sizeof(float))};
}

const float* RecurrentCache::conv_history() const {
  return conv_.as<float>() + conv_draft_rows_ * spec_.conv_channels();
}

void RecurrentCache::append_conv(const Tensor& inputs) {
  const std::size_t channels = spec_.conv_channels();
  const std::size_t history = spec_.taps - 1;
  const std::size_t rows = inputs.rows();
  const float* in = inputs.floats().data();
  if (drafting_) {
    if ((history + conv_draft_rows_ + rows) * channels * sizeof(float) > conv_.size_bytes())
      throw Error(ErrorKind::kInternal, "a draft grew past the rows it reserved");
    std::memcpy(conv_.as<float>() + (history + conv_draft_rows_) * channels, in,
                rows * channels * sizeof(float));
    conv_draft_rows_ += rows;
    return;
  }
  const std::size_t fresh = std::min(rows, history);
  float* kept = conv_.as<float>();
  std::memmove(kept, kept + fresh * channels, (history - fresh) * channels * sizeof(float));
  std::memcpy(kept + (history - fresh) * channels, in + (rows - fresh) * channels,
              fresh * channels * sizeof(float));
}

device::DeltaFoldCall RecurrentCache::fold_call(const Slot& slot, float* next_state) const {
  return {.state = slot.state.as<float>(),
          .next_state = next_state,
          .entry_keys = slot.keys.as<float>(),
          .entry_values = slot.values.as<float>(),
          .entry_decay = slot.decay.as<float>(),
          .entries = slot.entries,
          .key_heads = spec_.key_heads,
          .value_heads = spec_.value_heads,
          .key_dim = spec_.key_dim,
          .value_dim = spec_.value_dim};
}

void RecurrentCache::fold(const device::Ops& ops, device::Stream& stream) {
  if (!drafting_) {
    ops.delta_fold(stream, fold_call(slot_, slot_.state.as<float>()));
  } else {
    assert(!folded_);
    std::swap(slot_, previous_);
    ops.delta_fold(stream, fold_call(previous_, slot_.state.as<float>()));
    folded_ = true;
  }
  slot_.entries = 0;
}

void RecurrentCache::append_delta(const device::Ops& ops, device::Stream& stream, const Tensor& out,
                                  const Tensor& qkv, const Tensor& beta, const Tensor& log_decay) {
  const auto total = static_cast<std::int64_t>(qkv.rows());
  for (std::int64_t done = 0; done < total;) {
    if (slot_.entries == kDeltaChunk) fold(ops, stream);
    const std::int64_t rows = std::min(total - done, static_cast<std::int64_t>(kDeltaChunk - slot_.entries));
    ops.delta_net(stream, {.out = out.slice(done, done + rows),
                           .qkv = qkv.slice(done, done + rows),
                           .beta = beta.slice(done, done + rows),
                           .log_decay = log_decay.slice(done, done + rows),
                           .first = slot_.entries,
                           .key_heads = spec_.key_heads,
                           .value_heads = spec_.value_heads,
                           .key_dim = spec_.key_dim,
                           .value_dim = spec_.value_dim,
                           .state = slot_.state.as<float>(),
                           .entry_keys = slot_.keys.as<float>(),
                           .entry_values = slot_.values.as<float>(),
                           .entry_decay = slot_.decay.as<float>()});
    slot_.entries += static_cast<std::size_t>(rows);
    done += rows;
  }
}

void RecurrentCache::reserve_draft(std::size_t max_rows) {
  assert(!drafting_ && max_rows <= kDeltaChunk);
  if (previous_.state.size_bytes() == 0 && slot_.entries + max_rows > kDeltaChunk) previous_ = make_slot();
  const std::size_t channels = spec_.conv_channels();
  const std::size_t history_bytes = (spec_.taps - 1) * channels * sizeof(float);
  const std::size_t needed = history_bytes + max_rows * channels * sizeof(float);
  if (conv_.size_bytes() < needed) {
    Buffer grown(needed);
    std::memcpy(grown.data(), conv_.data(), history_bytes);
    conv_ = std::move(grown);
  }
}

void RecurrentCache::begin_draft() {
  drafting_ = true;
  folded_ = false;
  draft_entries_ = slot_.entries;
  conv_draft_rows_ = 0;
}

void RecurrentCache::commit_draft(std::size_t rows) noexcept {
  const std::size_t kept = draft_entries_ + rows;
  if (folded_ && kept <= kDeltaChunk) std::swap(slot_, previous_);
  slot_.entries = folded_ && kept > kDeltaChunk ? kept - kDeltaChunk : kept;
  const std::size_t channels = spec_.conv_channels();
  float* conv = conv_.as<float>();
  std::memmove(conv, conv + rows * channels, (spec_.taps - 1) * channels * sizeof(float));
  conv_draft_rows_ = 0;
  drafting_ = false;
  folded_ = false;
}

void RecurrentCache::read_state(const device::Ops& ops, device::Stream& stream, float* out) const {
  ops.delta_fold(stream, fold_call(slot_, out));
}

std::size_t RecurrentCache::size_bytes() const {
  std::size_t total = conv_.size_bytes();
  for (const Slot* slot : {&slot_, &previous_})
    total += slot->state.size_bytes() + slot->keys.size_bytes() + slot->values.size_bytes() +
             slot->decay.size_bytes();
  return total;
}

}  // namespace lanner::cache
