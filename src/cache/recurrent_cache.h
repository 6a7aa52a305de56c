// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_cache.h"
#include "cache/layer_spec.h"
#include "cache/saved_layer.h"
#include "core/tensor.h"
#include "device/ops.h"

namespace lanner::cache {

/// Bytes of the parts of a recurrent layer.
struct RecurrentSizes {
  std::size_t state_bytes = 0;
  std::size_t entry_bytes = 0;  ///< of a chunk's rows
  std::size_t conv_bytes = 0;   ///< without a draft's rows
  std::size_t conv_row_bytes = 0;
};
RecurrentSizes recurrent_sizes(const RecurrentSpec& spec);

class RecurrentCache;

/// Rows of one sequence to be run through the delta rule and appended; `done` of them already were.
struct DeltaAppend {
  RecurrentCache* cache = nullptr;
  Tensor out;        ///< [T, Hv*dv]
  Tensor qkv;        ///< [T, channels], any T
  Tensor beta;       ///< [T, Hv]
  Tensor log_decay;  ///< [T, Hv]
  std::size_t done = 0;
};

/// Runs the appends of several sequences side by side, chunk by chunk.
void append_delta(const device::Ops& ops, device::Stream& stream, std::span<DeltaAppend> appends);

/// State of one gated delta net layer of one sequence, in open-chunk form: S at the last chunk boundary (an
/// absolute multiple of spec.chunk positions) and the rows since as (key, pseudo-value, decay) entries. A row
/// is undone by forgetting its entry; inside a draft a fold goes to another slot, so the rows before the
/// boundary can come back too. State, entries and convolution rows are shared with forks until one of them
/// writes. Between drafts a whole chunk is always folded, so a fork at a boundary holds S alone.
class RecurrentCache {
 public:
  RecurrentCache(const RecurrentSpec& spec, const BlockPool& pool);

  const RecurrentSpec& spec() const { return spec_; }
  /// The last taps - 1 raw convolution inputs, oldest first: [taps-1, channels]; zeros before the sequence
  /// starts.
  const float* conv_history() const;
  /// Makes what the next `rows` rows write to this cache's own. Throws Error kOutOfMemory; the state stays
  /// valid then.
  void reserve(std::size_t rows);
  /// Takes the raw convolution inputs [T, channels] of rows just computed. In a draft all of them are kept.
  void append_conv(const device::Ops& ops, device::Stream& stream, const Tensor& inputs);
  /// The same for an operation that takes many sequences, which must run it.
  device::HistoryPush push_conv(const Tensor& inputs);
  /// Runs the delta rule over rows qkv [T, channels], any T, and appends their entries. out [T, Hv, dv].
  void append_delta(const device::Ops& ops, device::Stream& stream, const Tensor& out, const Tensor& qkv,
                    const Tensor& beta, const Tensor& log_decay);

  /// The same for operations that take many sequences: the fold that must run before more rows, if any; and
  /// the first rows of an append that fit into the open chunk.
  std::optional<device::DeltaFoldCall> take_fold();
  device::DeltaNetCall take_rows(const DeltaAppend& append);
  /// All rows of an append, through as many chunks as they fill. Not in a draft.
  device::DeltaNetCall take_run(const DeltaAppend& append);
  /// Lets go of the shared S that the folds taken so far read; they have run.
  void forget_left_state() { left_state_ = nullptr; }
  bool drafting() const { return drafting_; }
  /// True when no fold comes before the last of `rows` more rows.
  bool fits_chunk(std::size_t rows) const { return slot_.count + rows <= spec_.chunk; }
  /// True when the open chunk is whole and its fold need not wait for the next rows.
  bool ends_with_fold() const { return slot_.count == spec_.chunk && !drafting_; }

  /// Memory for a draft of at most max_rows rows. Throws Error kOutOfMemory; the state stays valid then.
  void reserve_draft(std::size_t max_rows);
  /// Rows appended from here on can be undone, as many as were reserved.
  void begin_draft();
  /// Ends the draft and keeps its first `rows` rows. A forward that threw half-way may have appended rows in
  /// some layers only; with rows = 0 every layer is back where it was.
  void commit_draft(std::size_t rows) noexcept;

  /// The same state in the same blocks; no draft may be open.
  RecurrentCache fork() const;
  /// Makes S this cache's own. Throws Error kOutOfMemory; the state stays valid then.
  void own_state() { pool_.make_exclusive(slot_.state); }
  /// S [Hv, dk, dv] after every appended row, written to out.
  void read_state(const device::Ops& ops, device::Stream& stream, float* out) const;
  void visit_blocks(const BlockVisitor& visit) const;
  /// State, convolution rows and, where there are any, entries.
  SavedLayer saved() const;
  /// Takes over what saved() gave, in blocks as large as saved_block_bytes() says.
  void restore(SavedLayer layer);
  std::size_t size_bytes() const;

 private:
  struct Slot {
    BlockRef state;    ///< S [Hv, dk, dv]
    BlockRef entries;  ///< keys [Hk, C, dk], pseudo-values [Hv, C, dv], decay [Hv, C] of C = chunk rows; may
                       ///< be absent when empty
    std::size_t count = 0;
  };

  std::size_t state_bytes() const;
  std::size_t entry_bytes() const;
  std::size_t conv_bytes(std::size_t draft_rows) const;
  float* entry_keys(const Slot& slot) const { return slot.entries->as<float>(); }
  float* entry_values(const Slot& slot) const;
  float* entry_decay(const Slot& slot) const;
  void own_entries(Slot& slot) const;
  void own_target(Slot& slot) const;
  /// Where a fold goes: over S, unless S is shared or was when the rows were reserved.
  const BlockRef& next_state();
  /// Goes on with the fold's target. S itself is held until the fold has run: others that share it may fold
  /// in the same operation.
  void leave_shared_state();
  /// The next `rows` rows of an append, into the open chunk.
  device::DeltaNetCall rows_call(const DeltaAppend& append, std::size_t rows) const;
  device::DeltaFoldCall fold_call(const Slot& slot, float* next_state) const;

  RecurrentSpec spec_;
  BlockPool pool_;
  Slot slot_;                ///< the open chunk
  std::vector<Slot> left_;   ///< the chunks before it that the open draft has folded
  std::vector<Slot> spare_;  ///< for chunks that a draft begins
  BlockRef next_state_;      ///< where a fold goes that may not overwrite the shared S
  BlockRef left_state_;      ///< the S that a fold under way reads
  bool drafting_ = false;
  std::size_t draft_count_ = 0;  ///< entries when the draft began
  BlockRef conv_;                ///< [taps-1 + draft rows, channels]
  std::size_t conv_draft_rows_ = 0;
};

}  // namespace lanner::cache
