// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "guarded.h"
#include "kernels/delta_net/delta_net.h"
#include "random.h"

namespace lanner::test {

/// Sizes of one delta-net layer.
struct DeltaShape {
  std::size_t key_heads;
  std::size_t value_heads;
  std::size_t key_dim;
  std::size_t value_dim;
  std::size_t chunk = kernels::kMostDeltaChunk;
};

/// How the random data of a case is drawn.
struct DeltaStyle {
  float decay_low;    ///< log decays lie in [decay_low, 0]
  float correlation;  ///< 0: random keys; near 1: nearly parallel ones
};

/// Inputs of `rows` consecutive positions beginning at a chunk boundary, keys and queries normalised, and a
/// boundary state.
struct DeltaCase {
  DeltaCase(DeltaShape s, std::size_t row_count, DeltaStyle style) : shape(s), rows(row_count) {
    const std::size_t key_width = shape.key_heads * shape.key_dim;
    stride = 2 * key_width + shape.value_heads * shape.value_dim + 3;
    qkv = random_normal(rows * stride, 61);
    const auto shared = random_normal(key_width, 62);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < key_width; ++i) {
        float& k = qkv[row * stride + key_width + i];
        k = (1 - style.correlation) * k + style.correlation * shared[i];
      }
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t head = 0; head < 2 * shape.key_heads; ++head)
        normalise(qkv.data() + row * stride + head * shape.key_dim, head < shape.key_heads);
    beta = random_uniform(rows * shape.value_heads, 63, 0.05F, 0.99F);
    log_decay = random_uniform(rows * shape.value_heads, 64, style.decay_low, 0);
    state = random_normal(shape.value_heads * shape.key_dim * shape.value_dim, 65);
  }

  void normalise(float* x, bool is_query) const {
    double sum = 0;
    for (std::size_t i = 0; i < shape.key_dim; ++i) sum += double(x[i]) * double(x[i]);
    const double factor = 1 / std::sqrt(sum + 1e-6) / (is_query ? std::sqrt(double(shape.key_dim)) : 1);
    for (std::size_t i = 0; i < shape.key_dim; ++i) x[i] = float(double(x[i]) * factor);
  }

  DeltaShape shape;
  std::size_t rows;
  std::size_t stride = 0;
  std::vector<float> qkv;
  std::vector<float> beta;
  std::vector<float> log_decay;
  std::vector<float> state;
};

/// A sequence in flight: boundary state, entries, outputs so far.
class DeltaRun {
 public:
  explicit DeltaRun(const DeltaCase& c)
      : case_(c),
        state(c.state),
        keys(c.shape.key_heads * c.shape.chunk * c.shape.key_dim),
        values(c.shape.value_heads * c.shape.chunk * c.shape.value_dim),
        decays(c.shape.value_heads * c.shape.chunk),
        out(c.rows * c.shape.value_heads * c.shape.value_dim, 1),
        scratch(kernels::delta_net_scratch_floats(c.shape.key_dim, c.shape.value_dim)) {}

  /// Advances `count` rows inside the open chunk, heads in parts of `heads`.
  void advance(kernels::DeltaNetFn* delta_net, std::size_t count, std::size_t heads) {
    const DeltaShape& s = case_.shape;
    const float* row = case_.qkv.data() + position * case_.stride;
    const kernels::DeltaNetArgs args = {
        .q = row,
        .k = row + s.key_heads * s.key_dim,
        .v = row + 2 * s.key_heads * s.key_dim,
        .qkv_stride = case_.stride,
        .beta = case_.beta.data() + position * s.value_heads,
        .log_decay = case_.log_decay.data() + position * s.value_heads,
        .out = out.data() + position * s.value_heads * s.value_dim,
        .rows = count,
        .first = position % case_.shape.chunk,
        .key_heads = s.key_heads,
        .value_heads = s.value_heads,
        .key_dim = s.key_dim,
        .value_dim = s.value_dim,
        .chunk = s.chunk,
        .state = state.data(),
        .entry_keys = keys.data(),
        .entry_values = values.data(),
        .entry_decay = decays.data(),
        .scratch = scratch.data(),
    };
    for (std::size_t head = 0; head < s.value_heads; head += heads)
      delta_net(args, head, std::min(head + heads, s.value_heads));
    position += count;
  }

  /// The state after the entries of the open chunk (all of it when `position` is a boundary).
  std::vector<float> folded(kernels::DeltaFoldFn* fold) const {
    const DeltaShape& s = case_.shape;
    std::vector<float> result(state.size());
    const std::size_t open = position % case_.shape.chunk;
    fold({.state = state.data(),
          .out = result.data(),
          .entry_keys = keys.data(),
          .entry_values = values.data(),
          .entry_decay = decays.data(),
          .entries = open == 0 ? case_.shape.chunk : open,
          .key_heads = s.key_heads,
          .value_heads = s.value_heads,
          .key_dim = s.key_dim,
          .value_dim = s.value_dim,
          .chunk = s.chunk},
         0, s.value_heads);
    return result;
  }

  /// All rows of the case in calls of at most `piece` rows, folding at every boundary.
  void finish(kernels::DeltaNetFn* delta_net, kernels::DeltaFoldFn* fold, std::size_t piece) {
    while (position < case_.rows) {
      const std::size_t room = case_.shape.chunk - position % case_.shape.chunk;
      advance(delta_net, std::min({piece, room, case_.rows - position}), case_.shape.value_heads);
      if (position % case_.shape.chunk == 0) state = folded(fold);
    }
  }

  bool guards_intact() const { return out.guards_intact() && scratch.guards_intact(); }

 private:
  const DeltaCase& case_;

 public:
  std::size_t position = 0;
  std::vector<float> state;
  Guarded<float> keys;
  Guarded<float> values;
  Guarded<float> decays;
  Guarded<float> out;
  Guarded<float> scratch;
};

/// The token-by-token recurrence in double: outputs and final state.
struct DeltaTruth {
  std::vector<float> out;
  std::vector<float> state;
};

inline DeltaTruth delta_recurrence(const DeltaCase& c) {
  const DeltaShape& s = c.shape;
  DeltaTruth truth;
  truth.out.resize(c.rows * s.value_heads * s.value_dim);
  std::vector<double> state(c.state.begin(), c.state.end());
  std::vector<double> read(s.value_dim);
  for (std::size_t t = 0; t < c.rows; ++t)
    for (std::size_t head = 0; head < s.value_heads; ++head) {
      const std::size_t key_head = head / (s.value_heads / s.key_heads);
      const float* q = c.qkv.data() + t * c.stride + key_head * s.key_dim;
      const float* k = q + s.key_heads * s.key_dim;
      const float* v = c.qkv.data() + t * c.stride + 2 * s.key_heads * s.key_dim + head * s.value_dim;
      double* S = state.data() + head * s.key_dim * s.value_dim;
      const double decay = std::exp(double(c.log_decay[t * s.value_heads + head]));
      std::fill(read.begin(), read.end(), 0.0);
      for (std::size_t d = 0; d < s.key_dim; ++d)
        for (std::size_t e = 0; e < s.value_dim; ++e) {
          S[d * s.value_dim + e] *= decay;
          read[e] += S[d * s.value_dim + e] * double(k[d]);
        }
      for (std::size_t e = 0; e < s.value_dim; ++e) {
        const double delta = double(c.beta[t * s.value_heads + head]) * (double(v[e]) - read[e]);
        double sum = 0;
        for (std::size_t d = 0; d < s.key_dim; ++d) {
          S[d * s.value_dim + e] += double(k[d]) * delta;
          sum += S[d * s.value_dim + e] * double(q[d]);
        }
        truth.out[(t * s.value_heads + head) * s.value_dim + e] = float(sum);
      }
    }
  truth.state.assign(state.begin(), state.end());
  return truth;
}

}  // namespace lanner::test
