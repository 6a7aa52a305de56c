// SPDX-License-Identifier: MIT
#pragma once

#include "layers/step.h"

namespace lanner::layers {

/// Stores this step's keys and values [rows, kv_heads, D] of a layer in each group's cache.
void append_kv(Step& step, std::size_t layer, const Tensor& k, const Tensor& v);

/// Attention of packed queries [rows, Hq, D] over the keys and values that `layer` reads in each group's
/// cache, this step's included. Causal, bounded by the layer's window. → [rows, Hq, D]
Tensor attend(Step& step, std::size_t layer, const Packing& rows, const Tensor& q, float scale);

}  // namespace lanner::layers
