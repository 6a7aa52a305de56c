// SPDX-License-Identifier: MIT
#include "cache/recurrent_cache.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "core/error.h"

namespace lanner::cache {

RecurrentCache::RecurrentCache(const RecurrentSpec& spec, const BlockPool& pool)
    : spec_(spec),
      pool_(pool),
      slot_{.state = pool.take(state_bytes()), .entries = nullptr, .count = 0},
      conv_(pool.take(conv_bytes(0))) {}

RecurrentSizes recurrent_sizes(const RecurrentSpec& spec) {
  const std::size_t row = spec.conv_channels() * sizeof(float);
  return {.state_bytes = spec.value_heads * spec.key_dim * spec.value_dim * sizeof(float),
          .entry_bytes = (spec.key_heads * spec.key_dim + spec.value_heads * (spec.value_dim + 1)) *
                         spec.chunk * sizeof(float),
          .conv_bytes = (spec.taps - 1) * row,
          .conv_row_bytes = row};
}

std::size_t RecurrentCache::state_bytes() const { return recurrent_sizes(spec_).state_bytes; }

std::size_t RecurrentCache::entry_bytes() const { return recurrent_sizes(spec_).entry_bytes; }

std::size_t RecurrentCache::conv_bytes(std::size_t draft_rows) const {
  const RecurrentSizes sizes = recurrent_sizes(spec_);
  return sizes.conv_bytes + draft_rows * sizes.conv_row_bytes;
}

float* RecurrentCache::entry_values(const Slot& slot) const {
  return entry_keys(slot) + spec_.key_heads * spec_.chunk * spec_.key_dim;
}

float* RecurrentCache::entry_decay(const Slot& slot) const {
  return entry_values(slot) + spec_.value_heads * spec_.chunk * spec_.value_dim;
}

void RecurrentCache::own_entries(Slot& slot) const {
  if (slot.count == 0 && (!slot.entries || is_shared(slot.entries)))
    slot.entries = pool_.take(entry_bytes());
  else
    pool_.make_exclusive(slot.entries);
}

/// A slot whose whole content is about to be replaced.
void RecurrentCache::own_target(Slot& slot) const {
  if (!slot.state || is_shared(slot.state)) slot.state = pool_.take_unset(state_bytes());
  slot.count = 0;
  own_entries(slot);
}

const float* RecurrentCache::conv_history() const {
  return conv_->as<float>() + conv_draft_rows_ * spec_.conv_channels();
}

void RecurrentCache::reserve(std::size_t rows) {
  own_entries(slot_);
  pool_.make_exclusive(conv_);
  const bool folds = slot_.count + rows >= spec_.chunk;
  if (folds && !drafting_ && is_shared(slot_.state) && !next_state_)
    next_state_ = pool_.take_unset(state_bytes());
}

void RecurrentCache::append_conv(const device::Ops& ops, device::Stream& stream, const Tensor& inputs) {
  const device::HistoryPush push = push_conv(inputs);
  ops.push_history(stream, {&push, 1});
}

device::HistoryPush RecurrentCache::push_conv(const Tensor& inputs) {
  const std::size_t history = spec_.taps - 1;
  if (!drafting_) return {conv_->as<float>(), history, inputs};
  const std::size_t rows = inputs.rows();
  if (conv_bytes(conv_draft_rows_ + rows) > conv_->size_bytes())
    throw Error(ErrorKind::kInternal, "a draft grew past the rows it reserved");
  float* const to = conv_->as<float>() + (history + conv_draft_rows_) * spec_.conv_channels();
  conv_draft_rows_ += rows;
  return {to, rows, inputs};
}

device::DeltaFoldCall RecurrentCache::fold_call(const Slot& slot, float* next_state) const {
  return {.state = slot.state->as<float>(),
          .next_state = next_state,
          .entry_keys = entry_keys(slot),
          .entry_values = entry_values(slot),
          .entry_decay = entry_decay(slot),
          .entries = slot.count,
          .key_heads = spec_.key_heads,
          .value_heads = spec_.value_heads,
          .key_dim = spec_.key_dim,
          .value_dim = spec_.value_dim,
          .chunk = spec_.chunk};
}

std::optional<device::DeltaFoldCall> RecurrentCache::take_fold() {
  if (slot_.count != spec_.chunk) return std::nullopt;
  device::DeltaFoldCall call;
  if (drafting_) {
    left_.push_back(std::exchange(slot_, std::move(spare_.back())));
    spare_.pop_back();
    call = fold_call(left_.back(), slot_.state->as<float>());
  } else {
    call = fold_call(slot_, next_state()->as<float>());
    leave_shared_state();
  }
  slot_.count = 0;
  return call;
}

const BlockRef& RecurrentCache::next_state() {
  if (!next_state_ && is_shared(slot_.state)) next_state_ = pool_.take_unset(state_bytes());
  return next_state_ ? next_state_ : slot_.state;
}

void RecurrentCache::leave_shared_state() {
  if (next_state_) left_state_ = std::exchange(slot_.state, std::exchange(next_state_, nullptr));
}

device::DeltaNetCall RecurrentCache::rows_call(const DeltaAppend& append, std::size_t rows) const {
  const auto begin = static_cast<std::int64_t>(append.done);
  const std::int64_t end = begin + static_cast<std::int64_t>(rows);
  return {.out = append.out.slice(begin, end),
          .qkv = append.qkv.slice(begin, end),
          .beta = append.beta.slice(begin, end),
          .log_decay = append.log_decay.slice(begin, end),
          .first = slot_.count,
          .key_heads = spec_.key_heads,
          .value_heads = spec_.value_heads,
          .key_dim = spec_.key_dim,
          .value_dim = spec_.value_dim,
          .chunk = spec_.chunk,
          .state = slot_.state->as<float>(),
          .entry_keys = entry_keys(slot_),
          .entry_values = entry_values(slot_),
          .entry_decay = entry_decay(slot_)};
}

device::DeltaNetCall RecurrentCache::take_rows(const DeltaAppend& append) {
  const std::size_t rows = std::min(append.qkv.rows() - append.done, spec_.chunk - slot_.count);
  const device::DeltaNetCall call = rows_call(append, rows);
  slot_.count += rows;
  return call;
}

device::DeltaNetCall RecurrentCache::take_run(const DeltaAppend& append) {
  assert(!drafting_);
  device::DeltaNetCall call = rows_call(append, append.qkv.rows() - append.done);
  const std::size_t total = slot_.count + call.qkv.rows();
  if (total >= spec_.chunk) {
    call.next_state = next_state()->as<float>();
    leave_shared_state();
  }
  slot_.count = total % spec_.chunk;
  return call;
}

void append_delta(const device::Ops& ops, device::Stream& stream, std::span<DeltaAppend> appends) {
  std::vector<device::DeltaFoldCall> folds;
  std::vector<device::DeltaNetCall> rows;
  do {
    folds.clear();
    rows.clear();
    for (DeltaAppend& append : appends) {
      const bool more = append.done < append.qkv.rows();
      if (!more && !append.cache->ends_with_fold()) continue;
      if (const auto fold = append.cache->take_fold()) folds.push_back(*fold);
      if (!more) continue;
      rows.push_back(append.cache->drafting() ? append.cache->take_rows(append)
                                              : append.cache->take_run(append));
      append.done += rows.back().qkv.rows();
    }
    if (!folds.empty()) ops.delta_fold(stream, folds);
    if (!rows.empty()) ops.delta_net(stream, rows);
    for (const DeltaAppend& append : appends) append.cache->forget_left_state();
  } while (!folds.empty() || !rows.empty());
}

void RecurrentCache::append_delta(const device::Ops& ops, device::Stream& stream, const Tensor& out,
                                  const Tensor& qkv, const Tensor& beta, const Tensor& log_decay) {
  DeltaAppend append{this, out, qkv, beta, log_decay};
  cache::append_delta(ops, stream, {&append, 1});
}

void RecurrentCache::reserve_draft(std::size_t max_rows) {
  assert(!drafting_);
  own_entries(slot_);
  const std::size_t folds = max_rows == 0 ? 0 : (slot_.count + max_rows - 1) / spec_.chunk;
  if (spare_.size() < folds) spare_.resize(folds);
  left_.reserve(folds);
  for (std::size_t i = spare_.size() - folds; i < spare_.size(); ++i) own_target(spare_[i]);
  if (conv_->size_bytes() >= conv_bytes(max_rows)) {
    pool_.make_exclusive(conv_);
  } else {
    const BlockRef grown = pool_.take(conv_bytes(max_rows));
    pool_.memory().copy(grown->data(), conv_->data(), conv_bytes(0));
    conv_ = grown;
  }
}

void RecurrentCache::begin_draft() {
  drafting_ = true;
  draft_count_ = slot_.count;
  conv_draft_rows_ = 0;
}

void RecurrentCache::commit_draft(std::size_t rows) noexcept {
  const std::size_t kept = draft_count_ + rows;
  // Moves between the two lists allocate nothing: together they hold what was reserved.
  for (; !left_.empty() && kept <= left_.size() * spec_.chunk; left_.pop_back())
    spare_.push_back(std::exchange(slot_, std::move(left_.back())));
  slot_.count = kept - left_.size() * spec_.chunk;
  for (Slot& folded : left_) spare_.push_back(std::move(folded));
  left_.clear();
  const std::size_t channels = spec_.conv_channels();
  if (rows > 0)
    pool_.memory().copy(conv_->data(), conv_->data() + rows * channels * sizeof(float), conv_bytes(0));
  conv_draft_rows_ = 0;
  drafting_ = false;
}

RecurrentCache RecurrentCache::fork() const {
  assert(!drafting_);
  RecurrentCache copy = *this;
  copy.spare_.clear();
  copy.next_state_ = nullptr;
  copy.left_state_ = nullptr;
  if (copy.slot_.count == 0) copy.slot_.entries = nullptr;
  return copy;
}

void RecurrentCache::read_state(const device::Ops& ops, device::Stream& stream, float* out) const {
  if (slot_.count == 0) {
    pool_.memory().copy(reinterpret_cast<std::byte*>(out), slot_.state->data(), state_bytes());
  } else {
    const device::DeltaFoldCall call = fold_call(slot_, out);
    ops.delta_fold(stream, {&call, 1});
  }
}

void RecurrentCache::visit_blocks(const BlockVisitor& visit) const {
  const auto visit_slots = [&](const auto& slots) {
    for (const Slot& slot : slots)
      for (const BlockRef* block : {&slot.state, &slot.entries})
        if (*block) visit(*block, CacheKind::kRecurrent);
  };
  visit_slots(std::span(&slot_, 1));
  visit_slots(left_);
  visit_slots(spare_);
  for (const BlockRef* block : {&next_state_, &conv_})
    if (*block) visit(*block, CacheKind::kRecurrent);
}

SavedLayer RecurrentCache::saved() const {
  SavedLayer layer{.entries = slot_.count,
                   .blocks = {slot_.state, conv_},
                   .content_bytes = {state_bytes(), conv_bytes(0)}};
  if (slot_.count == 0) return layer;
  layer.blocks.push_back(slot_.entries);
  layer.content_bytes.push_back(entry_bytes());
  return layer;
}

void RecurrentCache::restore(SavedLayer layer) {
  slot_ = {.state = layer.blocks[0],
           .entries = layer.entries > 0 ? layer.blocks[2] : nullptr,
           .count = layer.entries};
  conv_ = layer.blocks[1];
}

std::size_t RecurrentCache::size_bytes() const {
  std::size_t total = 0;
  visit_blocks([&](const BlockRef& block, CacheKind) { total += block->size_bytes(); });
  return total;
}

}  // namespace lanner::cache
