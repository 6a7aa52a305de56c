// SPDX-License-Identifier: MIT
#pragma once

#include "device/ops.h"

/// The GPU implementations behind cuda_ops(): shape checks, then kernels on the stream's device.
namespace lanner::device::cuda {

void embed(Stream&, const Tensor& out, const Matrix& table, std::span<const TokenId> ids, float scale);
void rms_norm(Stream&, const Tensor& out, const Tensor& x, const Tensor& w, float eps);
void add_norms(Stream&, const Tensor& out, const NormedPart& x, const NormedPart& y);
void l2_norm(Stream&, const Tensor& x, std::size_t begin, std::size_t count, std::size_t dim, float scale);
void gated_rms_norm(Stream&, const Tensor& out, const Tensor& x, const Tensor& z, const Tensor& w, float eps);
void rope_tables(Stream&, const Tensor& cos, const Tensor& sin, const RopeAngles& angles);
void add(Stream&, const Tensor& out, const Tensor& a, const Tensor& b);
void add_norm(Stream&, const Tensor& out, const Tensor& x, const Tensor& y, const Tensor& gain, float eps,
              float factor);
void scale(Stream&, const Tensor& out, const Tensor& x, float factor);
void gated_activation(Stream&, const Tensor& out, const Tensor& gate, const Tensor& up, GatedActivation kind);
void gate_rows(Stream&, const Tensor& out, const Tensor& x, const Tensor& gate);
void softcap(Stream&, const Tensor& out, const Tensor& x, float cap);
void copy(Stream&, const Tensor& out, const Tensor& x);
void take_rows(Stream&, const Tensor& out, const Tensor& x, std::span<const std::size_t> rows);
void swap_axes(Stream&, const Tensor& out, const Tensor& x);
void push_history(Stream&, std::span<const HistoryPush> pushes);
std::span<float> host_floats(Stream&, const Tensor& x);
void argmax(Stream&, std::span<TokenId> out, const Tensor& x);
void sample(Stream&, std::span<SampleResult> out, const Tensor& logits, std::span<const SampleJob> jobs);
std::shared_ptr<const TiledMatrix> tile(const Ops& ops, const kernels::WeightView& weight, Compute compute);
void linear(Stream&, std::span<const LinearCall> calls, const ProductInput& in);
void gated_linear(Stream&, const Tensor& out, const Matrix& gate, const Matrix& up, const ProductInput& in,
                  GatedActivation kind);
bool can_feed_forward(std::size_t rows, const Matrix& gate, const Matrix& up, const Matrix& down);
void feed_forward(Stream&, const FeedForwardCall& call);
void attention_heads(Stream&, const AttentionHeads& heads);
void attend_heads(Stream&, const AttentionHeads& heads, std::span<const AttentionCall> calls);
void write_kv(Stream&, std::span<const KvWrite> writes);
void attention(Stream&, std::span<const AttentionCall> calls);
void causal_conv(Stream&, std::span<const CausalConvCall> calls, const Tensor& w);
void delta_net_gates(Stream&, const Tensor& b, const Tensor& a, const Tensor& a_log, const Tensor& dt_bias);
void delta_net(Stream&, std::span<const DeltaNetCall> calls);
void delta_fold(Stream&, std::span<const DeltaFoldCall> calls);
bool can_mix(std::size_t rows, std::size_t taps);
void delta_mix(Stream&, std::span<const DeltaMixCall> calls, const DeltaMixWeights& weights);
void route(Stream&, const RouteCall& call);
void experts(Stream&, Arena&, const ExpertsCall& call);
void routed_experts(Stream&, Arena&, const RoutedExpertsCall& call);

/// The elements of a float tensor in the GPU's memory.
inline float* floats(const Tensor& x) { return static_cast<float*>(x.data); }

}  // namespace lanner::device::cuda
