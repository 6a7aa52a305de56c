// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace lanner::kernels {

/// Most positions between two writes of the state matrix.
inline constexpr std::size_t kMostDeltaChunk = 64;

/// Decay and write strength of one row and value head:
///   beta = 1/(1+e^-b),  log_decay = -exp(A_log) * softplus(a + dt_bias),  softplus(x) = x for x > 20.
/// a, b, beta, log_decay [rows, heads]; a_log, dt_bias [heads]. beta may be b, log_decay may be a. Scalar in
/// every build (heads values a row), in double, rounded once. Source: Qwen3_5GatedDeltaNet.forward,
/// transformers 5.17.
void delta_net_gates(float* beta, float* log_decay, const float* b, const float* a, const float* a_log,
                     const float* dt_bias, std::size_t rows, std::size_t heads);

/// One layer's gated delta rule over `rows` consecutive positions of one sequence that lie inside one
/// absolute chunk of positions. Open-chunk form: the state S at the chunk's beginning is only read; the rows
/// of the chunk are kept as entries (k, u, g), u the pseudo-value, g the row's log decay. With
/// G(i,t) = g_{i+1} + ... + g_t and G(-1,t) = g_0 + ... + g_t, row t of the chunk:
///   u_t = beta_t (v_t - e^{G(-1,t)} Sᵀk_t - sum_{i<t} e^{G(i,t)} (k_i·k_t) u_i)
///   o_t = e^{G(-1,t)} Sᵀq_t + sum_{i<=t} e^{G(i,t)} (k_i·q_t) u_i
/// equal to the recurrence S <- e^g S; S += k (beta (v - Sᵀk))ᵀ; o = Sᵀq. G(i,t) is summed from its own
/// terms: a difference of cumulative sums would lose the weak decays that follow a strong one.
/// Source: Yang et al. 2024 (gated delta rule).
struct DeltaNetArgs {
  const float* q = nullptr;          ///< [rows, key_heads, key_dim], L2-normalised and scaled
  const float* k = nullptr;          ///< [rows, key_heads, key_dim], L2-normalised
  const float* v = nullptr;          ///< [rows, value_heads, value_dim]
  std::size_t qkv_stride = 0;        ///< floats between rows of q, k and v (they share one conv output)
  const float* beta = nullptr;       ///< [rows, value_heads]
  const float* log_decay = nullptr;  ///< [rows, value_heads], <= 0
  float* out = nullptr;              ///< [rows, value_heads, value_dim], none of the inputs
  std::size_t rows = 0;              ///< first + rows <= chunk
  std::size_t first = 0;             ///< rows of the open chunk already present as entries
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;  ///< value head j uses key head j / (value_heads / key_heads)
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
  std::size_t chunk = 0;          ///< positions of a chunk, at most kMostDeltaChunk
  const float* state = nullptr;   ///< S [value_heads, key_dim, value_dim] at the chunk's beginning
  float* entry_keys = nullptr;    ///< [key_heads, chunk, key_dim]; rows [first, first+rows) are written
  float* entry_values = nullptr;  ///< u: [value_heads, chunk, value_dim], written likewise
  float* entry_decay = nullptr;   ///< g: [value_heads, chunk], written likewise
  float* scratch = nullptr;       ///< delta_net_scratch_floats(...) floats of the calling thread
};

/// Advances value heads [head_begin, head_end). entry_keys of a key head is written by the first value head
/// of its group, so a range must begin at a multiple of value_heads / key_heads. Float; sums in a fixed order
/// per row and head that does not depend on how rows are cut into calls: batch-invariant: yes. Reference:
/// double inside a row.
using DeltaNetFn = void(const DeltaNetArgs& args, std::size_t head_begin, std::size_t head_end);
DeltaNetFn delta_net_reference, delta_net_avx2, delta_net_avx512, delta_net_neon;

/// Ends a chunk of `entries` entries, n = entries - 1: out = e^{G(-1,n)} S + sum_i e^{G(i,n)} k_i u_iᵀ for
/// value heads [head_begin, head_end), i ascending. out may be S. Layouts as in DeltaNetArgs.
struct DeltaFoldArgs {
  const float* state = nullptr;
  float* out = nullptr;
  const float* entry_keys = nullptr;
  const float* entry_values = nullptr;
  const float* entry_decay = nullptr;
  std::size_t entries = 0;  ///< chunk at a boundary; fewer to read the state at any position
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
  std::size_t chunk = 0;
};
using DeltaFoldFn = void(const DeltaFoldArgs& args, std::size_t head_begin, std::size_t head_end);
DeltaFoldFn delta_fold_reference, delta_fold_avx2, delta_fold_avx512, delta_fold_neon;

/// Floats of scratch one thread needs for any number of rows and heads.
std::size_t delta_net_scratch_floats(std::size_t key_dim, std::size_t value_dim);

}  // namespace lanner::kernels
