// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cache/sequence_cache.h"
#include "core/arena.h"
#include "core/tensor.h"
#include "core/token.h"
#include "device/ops.h"
#include "layers/lora.h"

namespace lanner::layers {

/// What a group's rows are. Phases differ in scheduling and cache bookkeeping, never in arithmetic.
enum class Phase : std::uint8_t {
  kPrompt,  ///< a prompt or a piece of one
  kDecode,  ///< one newly sampled token
  kVerify,  ///< the last accepted token and drafted ones; the caller holds a Draft
  kKnown,   ///< tokens already decided: forced, replayed or accepted earlier
};

/// Where a token sits for rotary embeddings. Text has one index on all three axes; media give rows and
/// columns.
struct Position {
  std::int32_t time = 0;
  std::int32_t height = 0;
  std::int32_t width = 0;
};

/// Consecutive rows of one sequence in one forward.
struct Group {
  cache::SequenceCache* cache = nullptr;
  Phase phase = Phase::kPrompt;
  std::span<const TokenId> ids;              ///< appended at cache->length()
  std::span<const Position> positions = {};  ///< one per id; empty = text, counted from cache->length()
  std::span<const std::int32_t> wanted;  ///< rows of this group whose final hidden state is wanted, ascending
  const LoraSet* adapters = nullptr;     ///< that change the model for this group; none = the model itself
};

/// The part of a packed row matrix that belongs to each group.
struct Packing {
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Rows that follow each other and have the same adapters.
  struct Adapted {
    Range rows;
    const LoraSet* adapters;
  };
  std::vector<Range> groups;
  std::vector<Adapted> adapted;             ///< of groups with adapters, each as long as it goes
  std::vector<std::int32_t> key_positions;  ///< of every packed row: its index in its sequence
  std::vector<Position> rope_positions;

  std::size_t rows() const { return key_positions.size(); }
};

/// The packed rows of one group.
inline Tensor part(const Tensor& x, const Packing::Range& range) {
  return x.slice(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
}

/// Called with each layer's output [rows, H] (index 0 is the embedding, then one per layer, last the final
/// norm's output). Setting it makes every row wanted inside the layers.
using Tap = std::function<void(std::size_t index, const Tensor& hidden)>;

/// What one forward works on: groups of rows, packed into one matrix in group order, and what it computes
/// with. Token-wise work runs on the packed rows; attention, convolution and delta net run per group on its
/// cache.
class Step {
 public:
  /// Checks ids against nothing but emptiness; reserves room in every cache. Throws Error kOutOfMemory.
  Step(const device::Ops& ops, device::Stream& stream, Arena& arena, std::span<const Group> groups);

  const device::Ops& ops;
  device::Stream& stream;
  Arena& arena;
  Tap tap;

  std::span<const Group> groups() const { return groups_; }
  const Packing& all() const { return all_; }
  const Packing& wanted() const { return wanted_; }
  /// Packed index of every wanted row, ascending.
  std::span<const std::size_t> wanted_rows() const { return wanted_rows_; }
  /// The rows of x, one for each packed row or each wanted one, that have adapters. Those of other packings
  /// of as many rows are the same.
  std::span<const Packing::Adapted> adapted(const Tensor& x) const {
    return x.rows() == all_.rows() ? all_.adapted : wanted_.adapted;
  }
  /// The ids of all packed rows.
  std::span<const TokenId> ids() const { return ids_; }

  Tensor floats(const Shape& shape) { return arena.floats(shape); }
  /// The wanted rows of x [all rows, D]: [wanted rows, D], copied unless all are.
  Tensor take_wanted(const Tensor& x);
  /// Ends the forward: every cache has `ids` more positions.
  void finish();

 private:
  std::span<const Group> groups_;
  Packing all_;
  Packing wanted_;
  std::vector<std::size_t> wanted_rows_;
  std::vector<TokenId> ids_;
};

}  // namespace lanner::layers
