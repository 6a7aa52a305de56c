// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanner::kernels {

/// Top-k routing of each row: p = softmax(logits) over all experts, the k largest (ties: lower id), weights
/// w = p / sum of the chosen p. Since p grows with the logit and its denominator cancels, this is computed as
/// the k largest logits and their softmax, in double, rounded once. experts [rows, k] ascending by id,
/// weights [rows, k] in the same order; the caller adds expert outputs in that order. logits [rows,
/// n_experts], 0 < k <= n_experts. Scalar in every build. batch-invariant: yes. Source: Gemma4TextRouter and
/// Qwen3_5MoeTopKRouter, transformers 5.17.
void route_top_k(std::int32_t* experts, float* weights, const float* logits, std::size_t rows,
                 std::size_t n_experts, std::size_t k);

}  // namespace lanner::kernels
