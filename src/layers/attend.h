// SPDX-License-Identifier: MIT
#pragma once

#include "layers/rms_norm.h"
#include "layers/rope.h"
#include "layers/step.h"

namespace lanner::layers {

/// Projections of packed rows, before norms and rotation.
struct RawHeads {
  Tensor q;                     ///< [rows, Hq * query_width]
  std::size_t query_width = 0;  ///< floats of a head in q, whose first D are the query
  std::size_t q_heads = 0;
  Tensor k = {};  ///< [rows, Hk, D]; not set for a layer that shares its keys
  Tensor v = {};  ///< [rows, Hk, D]; may be k
};
struct HeadNorms {
  const RmsNorm& q;
  const RmsNorm* k = nullptr;
  const RmsNorm* v = nullptr;  ///< none: values stay as they are
};

/// Norms and rotates queries and keys and stores this step's keys and values in each group's cache. → q
/// [rows, Hq, D]
Tensor prepare_heads(Step& step, std::size_t layer, const RawHeads& raw, const HeadNorms& norms,
                     const Rope& rope, const RopeTables& tables);

/// Attention of packed queries [rows, Hq, D] over the keys and values that `layer` reads in each group's
/// cache, this step's included. Causal, bounded by the layer's window. → [rows, Hq, D]
Tensor attend(Step& step, std::size_t layer, const Packing& rows, const Tensor& q, float scale);
/// The same times sigmoid(gate): row t, head h has its D gates at gate + (t * Hq + h) * gate_head.
Tensor attend_gated(Step& step, std::size_t layer, const Packing& rows, const Tensor& q, float scale,
                    const float* gate, std::size_t gate_head);

}  // namespace lanner::layers
