// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "cache/layer_spec.h"
#include "core/buffer.h"
#include "core/tensor.h"
#include "device/ops.h"

namespace lanner::cache {

/// State of one gated delta net layer of one sequence, in open-chunk form: S at the last chunk boundary (an
/// absolute multiple of 64 positions) and the rows since as (key, pseudo-value, decay) entries. A row is
/// undone by forgetting its entry; inside a draft a fold goes to a second slot, so the rows before the
/// boundary can come back too.
class RecurrentCache {
 public:
  explicit RecurrentCache(const RecurrentSpec& spec);

  const RecurrentSpec& spec() const { return spec_; }
  /// The last taps - 1 raw convolution inputs, oldest first: [taps-1, channels]; zeros before the sequence
  /// starts.
  const float* conv_history() const;
  /// Takes the raw convolution inputs [T, channels] of rows just computed. In a draft all of them are kept.
  void append_conv(const Tensor& inputs);
  /// Runs the delta rule over rows qkv [T, channels], any T, and appends their entries. out [T, Hv, dv].
  void append_delta(const device::Ops& ops, device::Stream& stream, const Tensor& out, const Tensor& qkv,
                    const Tensor& beta, const Tensor& log_decay);

  /// Memory for a draft of at most max_rows <= 64 rows. Throws Error kOutOfMemory; the state stays valid
  /// then.
  void reserve_draft(std::size_t max_rows);
  /// Rows appended from here on can be undone, as many as were reserved.
  void begin_draft();
  /// Ends the draft and keeps its first `rows` rows. A forward that threw half-way may have appended rows in
  /// some layers only; with rows = 0 every layer is back where it was.
  void commit_draft(std::size_t rows) noexcept;

  /// S [Hv, dk, dv] after every appended row, written to out.
  void read_state(const device::Ops& ops, device::Stream& stream, float* out) const;
  std::size_t size_bytes() const;

 private:
  struct Slot {
    Buffer state;
    Buffer keys;
    Buffer values;
    Buffer decay;
    std::size_t entries = 0;
  };

  Slot make_slot() const;
  void fold(const device::Ops& ops, device::Stream& stream);
  device::DeltaFoldCall fold_call(const Slot& slot, float* next_state) const;

  RecurrentSpec spec_;
  Slot slot_;      ///< the open chunk
  Slot previous_;  ///< the chunk before it, while a draft that crossed the boundary is open
  bool drafting_ = false;
  bool folded_ = false;            ///< the open draft crossed a boundary
  std::size_t draft_entries_ = 0;  ///< entries when the draft began
  Buffer conv_;                    ///< [taps-1 + draft rows, channels]
  std::size_t conv_draft_rows_ = 0;
};

}  // namespace lanner::cache
