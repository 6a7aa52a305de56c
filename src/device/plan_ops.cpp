// SPDX-License-Identifier: MIT
#include "device/plan_ops.h"

#include <algorithm>

#include "device/cpu_op_functions.h"
#include "device/cpu_projection.h"

namespace lanner::device {
namespace {

template <typename... Arguments>
void nothing(Arguments... /*unused*/) {}

void take_scratch(Stream& stream, std::size_t floats_per_thread) {
  for (int thread = 0; thread < stream.pool().threads(); ++thread) stream.scratch(thread, floats_per_thread);
}

void take_scratch(Stream& stream, const cpu::ProjectionInput& input, std::size_t own_floats) {
  const cpu::ProjectionScratch scratch = cpu::projection_scratch(input, own_floats);
  if (scratch.shared_bytes > 0) stream.shared_scratch(scratch.shared_bytes);
  take_scratch(stream, scratch.thread_floats);
}

void add_norm(Stream& stream, const Tensor& /*out*/, const Tensor& /*x*/, const Tensor& y,
              const Tensor& /*gain*/, float /*eps*/, float /*factor*/) {
  take_scratch(stream, y.columns());
}

void linear(Stream& stream, std::span<const LinearCall> calls, const ProductInput& in) {
  if (in.sum) take_scratch(stream, in.sum->y.columns());
  std::array<const Matrix*, kMaxLinearCalls> matrices{};
  std::ranges::transform(calls, matrices.begin(), &LinearCall::w);
  take_scratch(stream, cpu::ProjectionInput(stream.kernels(), in, std::span(matrices).first(calls.size())),
               kernels::linear_scratch_floats(in.x.columns()));
}

void gated_linear(Stream& stream, const Tensor& /*out*/, const Matrix& gate, const Matrix& up,
                  const ProductInput& in, GatedActivation /*kind*/) {
  if (in.sum) take_scratch(stream, in.sum->y.columns());
  const std::array<const Matrix*, 2> matrices = {&gate, &up};
  take_scratch(stream, cpu::ProjectionInput(stream.kernels(), in, matrices),
               cpu::gated_scratch_floats(in.x.rows(), in.x.columns()));
}

void attention_heads(Stream& stream, const AttentionHeads& heads) {
  if (heads.k.data != nullptr)
    take_scratch(stream, static_cast<std::size_t>(heads.k.shape[1]) * heads.k.columns());
}

template <AttentionKernels CpuKernels::*kKernels>
void attention(Stream& stream, std::span<const AttentionCall> calls) {
  for (const AttentionCall& call : calls) {
    const cpu::AttentionScratch scratch = cpu::attention_scratch(
        stream.kernels().*kKernels, call, calls.size(), static_cast<std::size_t>(stream.pool().threads()));
    if (scratch.shared_bytes > 0) stream.shared_scratch(scratch.shared_bytes);
    take_scratch(stream, scratch.thread_floats);
  }
}

void delta_net(Stream& stream, std::span<const DeltaNetCall> calls) {
  for (const DeltaNetCall& call : calls)
    take_scratch(stream, kernels::delta_net_scratch_floats(call.key_dim, call.value_dim));
}

void delta_mix(Stream& stream, std::span<const DeltaMixCall> calls, const DeltaMixWeights& /*weights*/) {
  for (const DeltaMixCall& call : calls) delta_net(stream, {&call.rows, 1});
}

/// The most that the operation takes: every row chose the same expert.
void experts(Stream& stream, Arena& arena, const ExpertsCall& call) {
  const ArenaScope scope(arena);
  const auto rows = static_cast<std::int64_t>(call.x.rows());
  const auto hidden = call.x.shape.back();
  arena.floats({static_cast<std::int64_t>(call.experts.size()), hidden});
  const Tensor x = arena.floats({rows, hidden});
  const Tensor gated = arena.floats({rows, static_cast<std::int64_t>(call.gate.front().rows())});
  const Tensor down = arena.floats({rows, hidden});
  gated_linear(stream, gated, call.gate.front(), call.up.front(), {.x = x}, call.activation);
  const LinearCall last{down, &call.down.front()};
  linear(stream, {&last, 1}, {.x = gated});
}

}  // namespace

Ops plan_ops(const Ops& ops, PlannedMemory& memory) {
  Ops plan = ops;
  plan.memory = &memory;
  plan.cuda = nullptr;
  plan.embed = nothing;
  plan.rms_norm = nothing;
  plan.l2_norm = nothing;
  plan.gated_rms_norm = nothing;
  plan.rope_tables = nothing;
  plan.add = nothing;
  plan.add_norm = nothing;
  plan.add_norms = nullptr;  // its parts take more
  plan.scale = nothing;
  plan.gated_activation = nothing;
  plan.gate_rows = nothing;
  plan.softcap = nothing;
  plan.copy = nothing;
  plan.take_rows = nothing;
  plan.swap_axes = nothing;
  plan.push_history = nothing;
  plan.host_floats = nullptr;  // there is nothing to read
  plan.argmax = nothing;
  plan.sample = nullptr;
  plan.is_lost = nullptr;
  plan.attention_heads = nothing;
  plan.attend_heads = nullptr;  // its parts take as much
  plan.write_kv = nothing;
  plan.causal_conv = nothing;
  plan.delta_net_gates = nothing;
  plan.delta_fold = nothing;
  plan.delta_mix = nothing;
  plan.route = nothing;
  plan.linear = nothing;
  plan.gated_linear = nothing;
  plan.can_feed_forward = nullptr;  // its parts take as much
  plan.feed_forward = nullptr;
  plan.add_low_rank = nothing;
  plan.attention = nothing;
  plan.delta_net = nothing;
  plan.experts = nothing;
  plan.routed_experts = nullptr;  // its parts take as much
  if (memory.kind() != DeviceKind::kCpu) return plan;
  plan.linear = linear;
  plan.gated_linear = gated_linear;
  plan.attention = ops.attention == cpu::attention ? attention<&CpuKernels::attention>
                                                   : attention<&CpuKernels::attention_int16>;
  plan.delta_net = delta_net;
  plan.delta_mix = delta_mix;
  plan.add_norm = add_norm;
  plan.attention_heads = attention_heads;
  plan.experts = experts;
  return plan;
}

}  // namespace lanner::device
