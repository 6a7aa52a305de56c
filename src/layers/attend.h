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

/// How queries meet keys.
struct Scores {
  float scale = 1;
  /// Where set, outputs are multiplied by its sigmoid: row t, head h has its D gates at (t * Hq + h) *
  /// gate_head.
  const float* gate = nullptr;
  std::size_t gate_head = 0;
};

/// Norms and rotates queries and keys, stores this step's keys and values in each group's cache, and attends
/// to the keys and values that `layer` reads there, this step's included: causal, bounded by the layer's
/// window. → [rows, Hq, D]
Tensor attend(Step& step, std::size_t layer, const Packing& rows, const RawHeads& raw, const HeadNorms& norms,
              const Rope& rope, const RopeTables& tables, const Scores& scores);

}  // namespace lanner::layers
