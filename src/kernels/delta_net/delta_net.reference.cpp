// SPDX-License-Identifier: MIT
#include "kernels/delta_net/delta_net.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lanner::kernels {
namespace {

double dot(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}

// Column `column` of Sᵀx.
double state_dot(const float* state, const float* x, std::size_t column, const DeltaNetArgs& args) {
  double sum = 0;
  for (std::size_t d = 0; d < args.key_dim; ++d)
    sum += double(state[d * args.value_dim + column]) * double(x[d]);
  return sum;
}

// One row of one value head. Its key is already an entry.
void advance_row(const DeltaNetArgs& args, std::size_t row, std::size_t head) {
  const std::size_t key_head = head / (args.value_heads / args.key_heads);
  const std::size_t t = args.first + row;
  const float* q = args.q + row * args.qkv_stride + key_head * args.key_dim;
  const float* v = args.v + row * args.qkv_stride + head * args.value_dim;
  const float* state = args.state + head * args.key_dim * args.value_dim;
  const float* keys = args.entry_keys + key_head * args.chunk * args.key_dim;
  const float* k = keys + t * args.key_dim;
  float* u = args.entry_values + head * args.chunk * args.value_dim;
  float* g = args.entry_decay + head * args.chunk;
  g[t] = args.log_decay[row * args.value_heads + head];

  // decay[i] = e^(g_{i+1} + ... + g_t); the exponent is summed from the near end, never as a difference.
  std::array<double, kMostDeltaChunk> k_weight;
  std::array<double, kMostDeltaChunk> q_weight;
  double log_decay = 0;
  for (std::size_t i = t + 1; i-- > 0;) {
    const double decay = std::exp(log_decay);
    k_weight[i] = decay * dot(keys + i * args.key_dim, k, args.key_dim);
    q_weight[i] = decay * dot(keys + i * args.key_dim, q, args.key_dim);
    log_decay += double(g[i]);
  }
  const double state_decay = std::exp(log_decay);

  const double beta = double(args.beta[row * args.value_heads + head]);
  for (std::size_t column = 0; column < args.value_dim; ++column) {
    double read = state_decay * state_dot(state, k, column, args);
    double out = state_decay * state_dot(state, q, column, args);
    for (std::size_t i = 0; i < t; ++i) {
      read += k_weight[i] * double(u[i * args.value_dim + column]);
      out += q_weight[i] * double(u[i * args.value_dim + column]);
    }
    float& pseudo_value = u[t * args.value_dim + column];
    pseudo_value = float(beta * (double(v[column]) - read));
    out += q_weight[t] * double(pseudo_value);
    args.out[(row * args.value_heads + head) * args.value_dim + column] = float(out);
  }
}

}  // namespace

void delta_net_reference(const DeltaNetArgs& args, std::size_t head_begin, std::size_t head_end) {
  const std::size_t group = args.value_heads / args.key_heads;
  for (std::size_t head = head_begin; head < head_end; ++head)
    for (std::size_t row = 0; row < args.rows; ++row) {
      if (head % group == 0)
        std::copy_n(args.k + row * args.qkv_stride + head / group * args.key_dim, args.key_dim,
                    args.entry_keys + (head / group * args.chunk + args.first + row) * args.key_dim);
      advance_row(args, row, head);
    }
}

void delta_fold_reference(const DeltaFoldArgs& args, std::size_t head_begin, std::size_t head_end) {
  for (std::size_t head = head_begin; head < head_end; ++head) {
    const std::size_t key_head = head / (args.value_heads / args.key_heads);
    const float* keys = args.entry_keys + key_head * args.chunk * args.key_dim;
    const float* u = args.entry_values + head * args.chunk * args.value_dim;
    const float* g = args.entry_decay + head * args.chunk;
    std::array<double, kMostDeltaChunk> decay;
    double log_decay = 0;
    for (std::size_t i = args.entries; i-- > 0;) {
      decay[i] = std::exp(log_decay);
      log_decay += double(g[i]);
    }
    for (std::size_t d = 0; d < args.key_dim; ++d)
      for (std::size_t column = 0; column < args.value_dim; ++column) {
        const std::size_t at = (head * args.key_dim + d) * args.value_dim + column;
        double sum = std::exp(log_decay) * double(args.state[at]);
        for (std::size_t i = 0; i < args.entries; ++i)
          sum += decay[i] * double(keys[i * args.key_dim + d]) * double(u[i * args.value_dim + column]);
        args.out[at] = float(sum);
      }
  }
}

}  // namespace lanner::kernels
