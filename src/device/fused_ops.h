// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "device/ops.h"

namespace lanner::device {

/// Rows on their way into products: x [T, K], or its RMS norm.
struct ProductInput {
  Tensor x;
  bool norm = false;
  Tensor gain = {};  ///< [K] or empty
  float eps = 0;
};

/// out [T, N] = in wᵀ, plus residual [T, N] where it is set; out may be residual.
struct AddedProduct {
  Tensor out;
  const Matrix* w = nullptr;
  Tensor residual = {};
};

/// The projections of rows on their way to attention: q, k, v normed per head, q and k rotated, k and v into
/// their caches.
struct AttentionHeads {
  Tensor q_out;              ///< [T, Hq, D]
  const float* q = nullptr;  ///< row t, head h at t * q_row + h * q_head
  std::size_t q_row = 0;
  std::size_t q_head = 0;
  Tensor k = {};       ///< [T, Hk, D]; not set: queries only
  Tensor v = {};       ///< [T, Hk, D]; may be k
  Tensor q_gain = {};  ///< [D]
  Tensor k_gain = {};  ///< [D]
  float q_eps = 0;
  float k_eps = 0;
  float v_eps = 0;
  bool norm_values = false;  ///< without gain
  Tensor cos = {};           ///< [T, F]
  Tensor sin = {};           ///< [T, F]
  RopeShape rope;
  std::span<const KvWrite> writes = {};  ///< of k, then of v, for each group in turn; x as in k and v
};

/// A few rows of one sequence through the gated delta net after its projections.
struct DeltaMixCall {
  DeltaNetCall rows;               ///< qkv: room for the convolution's output
  Tensor x;                        ///< [T, channels], what the convolution reads
  const float* history = nullptr;  ///< [taps-1, channels]
  HistoryPush push;
  Tensor z;  ///< [T, Hv*dv]
};
struct DeltaMixWeights {
  Tensor conv;     ///< [taps, channels]
  Tensor a_log;    ///< [Hv]
  Tensor dt_bias;  ///< [Hv]
  Tensor gain;     ///< [dv] of the outputs' norm
  float eps = 0;
  float query_scale = 1;
};

/// Routed experts over `in` [T, D], as RouteCall and ExpertsCall say; with a shared gate the last of the
/// matrices are one more expert's, which all rows take.
struct RoutedExpertsCall {
  Tensor out;            ///< [T, D]
  Tensor residual = {};  ///< [T, D], added, where it is set
  ProductInput in;
  Tensor logits;             ///< [T, E]
  Tensor expert_scale = {};  ///< [E] or empty
  Tensor shared_gate = {};   ///< [T, 1], whose sigmoid weighs the last expert; or empty
  std::size_t k = 0;
  std::span<const Matrix> gate;  ///< E of [F, D]
  std::span<const Matrix> up;    ///< E of [F, D]
  std::span<const Matrix> down;  ///< E of [D, F]
  GatedActivation activation = GatedActivation::kSilu;
};

/// What a device computes in one go that layers otherwise put together from the operations of Ops, to the
/// same bits for any number of rows.
struct FusedOps {
  /// Products of one input with several matrices.
  void (*linear)(Stream&, std::span<const AddedProduct> products, const ProductInput& in);
  /// out = act(in gateᵀ) * (in upᵀ)
  void (*gated_linear)(Stream&, const Tensor& out, const Matrix& gate, const Matrix& up,
                       const ProductInput& in, GatedActivation kind);
  /// out = (x + norm(y) * gain) * factor; out may be x.
  void (*add_norm)(Stream&, const Tensor& out, const Tensor& x, const Tensor& y, const Tensor& gain,
                   float eps, float factor);
  void (*attention_heads)(Stream&, const AttentionHeads& heads);
  /// True when delta_mix() takes this many rows of a sequence with kernels of these sizes.
  bool (*can_mix)(std::size_t rows, std::size_t taps);
  /// Convolution, history, norms, gates, delta rule, gated norm; beta and log_decay of the calls hold the
  /// projections b and a before. Every sequence's rows stay in its open chunk.
  void (*delta_mix)(Stream&, std::span<const DeltaMixCall> calls, const DeltaMixWeights& weights);
  void (*routed_experts)(Stream&, Arena&, const RoutedExpertsCall& call);
};

}  // namespace lanner::device
