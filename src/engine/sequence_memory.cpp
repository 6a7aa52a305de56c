// SPDX-License-Identifier: MIT
#include "engine/sequence_memory.h"

#include <algorithm>

#include "cache/kv_cache.h"
#include "engine/largest.h"

namespace lanner::engine {
namespace {

std::size_t blocks_of(std::size_t tokens) { return (tokens + device::kKvBlock - 1) / device::kKvBlock; }

double per_token(std::size_t block_bytes) {
  return static_cast<double>(block_bytes) / static_cast<double>(device::kKvBlock);
}

}  // namespace

std::size_t SequenceMemory::Window::most_blocks() const { return blocks_of(positions - 1) + 1; }

SequenceMemory::SequenceMemory(const cache::CacheSpec& spec) {
  for (std::size_t index = 0; index < spec.layers.size(); ++index) {
    const cache::LayerSpec& layer = spec.layers[index];
    const device::KvType type = spec.kv_type_of(index);
    if (const auto* full = std::get_if<cache::FullSpec>(&layer)) {
      full_block_bytes_ += cache::kv_block_bytes(type, full->kv_heads, full->head_dim);
    } else if (const auto* sliding = std::get_if<cache::SlidingSpec>(&layer)) {
      auto window = std::ranges::find(windows_, sliding->window, &Window::positions);
      if (window == windows_.end()) window = windows_.insert(window, {.positions = sliding->window});
      window->block_bytes += cache::kv_block_bytes(type, sliding->kv_heads, sliding->head_dim);
    } else if (const auto* state = std::get_if<cache::RecurrentSpec>(&layer)) {
      const cache::RecurrentSizes sizes = cache::recurrent_sizes(*state);
      slot_bytes_ += sizes.state_bytes + sizes.entry_bytes;
      chunk_ = state->chunk;
      conv_bytes_ += sizes.conv_bytes;
      conv_row_bytes_ += sizes.conv_row_bytes;
      if (sizes.conv_bytes > largest_conv_.conv_bytes) largest_conv_ = sizes;
    }
  }
}

cache::CacheBytes SequenceMemory::parts(const SequenceSize& size) const {
  if (size.tokens == 0) return {};
  cache::CacheBytes parts{.full = full_block_bytes_ * blocks_of(size.tokens),
                          .recurrent = slot_bytes_ + conv_bytes_};
  for (const Window& window : windows_)
    parts.sliding += window.block_bytes * std::min(blocks_of(size.tokens), window.most_blocks());
  // A draft keeps the chunks whose ends it crosses, at most one more than it fills, and the convolution all
  // of its rows. Layer by layer, rows for a longer draft are taken while those of a shorter one are still
  // held.
  if (size.draft_rows > 0)
    parts.recurrent += slot_bytes_ * (1 + (size.draft_rows - 1) / chunk_) + largest_conv_.conv_bytes +
                       (conv_row_bytes_ + largest_conv_.conv_row_bytes) * size.draft_rows;
  return parts;
}

std::size_t SequenceMemory::longest_fitting(std::size_t tokens, std::size_t budget) const {
  return largest(tokens, [&](std::size_t count) { return bytes({.tokens = count}) <= budget; });
}

std::size_t SequenceMemory::step_bytes(std::size_t rows, std::size_t sequences) const {
  std::size_t total = 0;
  for (const Window& window : windows_) total += window.block_bytes * (rows / device::kKvBlock + sequences);
  return total;
}

double SequenceMemory::full_bytes_per_token() const { return per_token(full_block_bytes_); }

double SequenceMemory::sliding_bytes_per_token() const {
  double total = 0;
  for (const Window& window : windows_) total += per_token(window.block_bytes);
  return total;
}

std::size_t SequenceMemory::window() const {
  std::size_t longest = 0;
  for (const Window& window : windows_) longest = std::max(longest, window.positions);
  return longest;
}

std::size_t SequenceMemory::checkpoint_bytes() const {
  std::size_t total = slot_bytes_ + conv_bytes_;
  for (const Window& window : windows_) total += window.block_bytes * window.most_blocks();
  return total;
}

}  // namespace lanner::engine
