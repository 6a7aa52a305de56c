// SPDX-License-Identifier: MIT
#pragma once

#include "device/ops.h"

/// The CPU implementations behind cpu_ops(): shape checks, then ranges split over the pool.
namespace lanner::device::cpu {

void embed(Stream&, const Tensor& out, const Matrix& table, std::span<const TokenId> ids, float scale);
void rms_norm(Stream&, const Tensor& out, const Tensor& x, const Tensor& w, float eps);
void l2_norm(Stream&, const Tensor& x, std::size_t begin, std::size_t count, std::size_t dim, float scale);
void gated_rms_norm(Stream&, const Tensor& out, const Tensor& x, const Tensor& z, const Tensor& w, float eps);
void rope(Stream&, const Tensor& x, const Tensor& cos, const Tensor& sin, const RopeShape& shape);
void add(Stream&, const Tensor& out, const Tensor& a, const Tensor& b);
void scale(Stream&, const Tensor& out, const Tensor& x, float factor);
void gated_activation(Stream&, const Tensor& out, const Tensor& gate, const Tensor& up, GatedActivation kind);
void sigmoid_mul(Stream&, const Tensor& out, const Tensor& x, const Tensor& gate);
void softcap(Stream&, const Tensor& out, const Tensor& x, float cap);
void linear(Stream&, std::span<const LinearCall> calls, const Tensor& x);
void gated_linear(Stream&, const Tensor& out, const Matrix& gate, const Matrix& up, const Tensor& x,
                  GatedActivation kind);
void write_kv(std::span<void* const> blocks, std::size_t first_block, DType dtype, const Tensor& x,
              std::size_t position);
void attention(Stream&, const AttentionCall& call);
void causal_conv(Stream&, const Tensor& out, const Tensor& x, const float* history, const Tensor& w);
void delta_net_gates(const Tensor& b, const Tensor& a, const Tensor& a_log, const Tensor& dt_bias);
void delta_net(Stream&, const DeltaNetCall& call);
void delta_fold(Stream&, const DeltaFoldCall& call);
void route(std::span<std::int32_t> experts, std::span<float> weights, const Tensor& logits, std::size_t k);
void experts(Stream&, Arena&, const ExpertsCall& call);

}  // namespace lanner::device::cpu
