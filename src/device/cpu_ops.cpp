// SPDX-License-Identifier: MIT
#include "device/cpu_op_functions.h"

namespace lanner::device {
namespace {

/// A decode step reads the state and the entries; 64 of those take as many bytes. With 32 it reads a quarter
/// less on average and holds a quarter less, and prompts lose nothing.
constexpr std::size_t kDeltaChunk = 32;

std::string_view device_name(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "cpu/reference";
    case Isa::kAvx2:
      return "cpu/avx2";
    case Isa::kAvx512:
      return "cpu/avx512";
    case Isa::kNeon:
      return "cpu/neon";
  }
  return "cpu";
}

}  // namespace

Ops cpu_ops(Isa isa, Compute compute) {
  cpu_kernels(isa);  // throws when this CPU cannot run it
  return {
      .device = device_name(isa),
      .isa = isa,
      .delta_chunk = kDeltaChunk,
      .embed = cpu::embed,
      .rms_norm = cpu::rms_norm,
      .l2_norm = cpu::l2_norm,
      .gated_rms_norm = cpu::gated_rms_norm,
      .rope_tables = cpu::rope_tables,
      .add = cpu::add,
      .add_norm = cpu::add_norm,
      .scale = cpu::scale,
      .gated_activation = cpu::gated_activation,
      .gate_rows = cpu::gate_rows,
      .softcap = cpu::softcap,
      .copy = cpu::copy,
      .take_rows = cpu::take_rows,
      .swap_axes = cpu::swap_axes,
      .push_history = cpu::push_history,
      .host_floats = cpu::host_floats,
      .argmax = cpu::argmax,
      .linear = cpu::linear,
      .gated_linear = cpu::gated_linear,
      .add_low_rank = cpu::add_low_rank,
      .attention_heads = cpu::attention_heads,
      .write_kv = cpu::write_kv,
      .attention = compute == Compute::kInt8 ? cpu::attention_int16 : cpu::attention,
      .causal_conv = cpu::causal_conv,
      .delta_net_gates = cpu::delta_net_gates,
      .delta_net = cpu::delta_net,
      .delta_fold = cpu::delta_fold,
      .can_mix = [](std::size_t, std::size_t) { return true; },
      .delta_mix = cpu::delta_mix,
      .route = cpu::route,
      .experts = cpu::experts,
  };
}

}  // namespace lanner::device
