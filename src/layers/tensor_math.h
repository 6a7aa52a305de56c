// SPDX-License-Identifier: MIT
#pragma once

#include "layers/step.h"

namespace lanner::layers {

// Value-returning forms of element-wise operations, so that a forward reads like its equations. Results live
// in the step's arena.

/// a + b
Tensor add(Step& step, const Tensor& a, const Tensor& b);
/// x * factor
Tensor scale(Step& step, const Tensor& x, float factor);
/// gelu_tanh(gate) * up
Tensor gelu_mul(Step& step, const Tensor& gate, const Tensor& up);
/// cap * tanh(x / cap)
Tensor softcap(Step& step, const Tensor& x, float cap);

/// [rows, heads*D] seen as [rows, heads, D]
Tensor split_heads(const Tensor& x, std::size_t heads);
/// [rows, heads, D] seen as [rows, heads*D]
Tensor join_heads(const Tensor& x);

}  // namespace lanner::layers
