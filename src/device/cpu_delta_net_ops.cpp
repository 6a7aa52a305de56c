// SPDX-License-Identifier: MIT
#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {

namespace {

void convolve(Stream& stream, const CausalConvCall& call, const Tensor& w) {
  const auto& [out, x, history] = call;
  check_shape(out.shape == x.shape && w.columns() == x.columns(), "causal_conv", x);
  const kernels::CausalConvArgs args = {.x = x.floats().data(),
                                        .history = history,
                                        .w = w.floats().data(),
                                        .out = out.floats().data(),
                                        .rows = x.rows(),
                                        .channels = x.columns(),
                                        .taps = w.rows()};
  constexpr std::size_t kChannelGrain = 256;
  stream.pool().split(x.columns(), kChannelGrain, [&](std::size_t begin, std::size_t end, int) {
    stream.kernels().causal_conv(args, begin, end);
  });
}

void advance(Stream& stream, const DeltaNetCall& call) {
  const std::size_t key_width = call.key_heads * call.key_dim;
  const std::size_t value_width = call.value_heads * call.value_dim;
  const std::size_t rows = call.qkv.rows();
  check_shape(call.qkv.columns() == 2 * key_width + value_width, "delta_net", call.qkv);
  check_shape(call.first + rows <= kernels::kDeltaChunk, "delta_net", call.qkv);
  check_shape(static_cast<std::size_t>(call.out.element_count()) == rows * value_width, "delta_net",
              call.out);
  const float* qkv = call.qkv.floats().data();
  const kernels::DeltaNetArgs args = {.q = qkv,
                                      .k = qkv + key_width,
                                      .v = qkv + 2 * key_width,
                                      .qkv_stride = call.qkv.columns(),
                                      .beta = call.beta.floats().data(),
                                      .log_decay = call.log_decay.floats().data(),
                                      .out = call.out.floats().data(),
                                      .rows = rows,
                                      .first = call.first,
                                      .key_heads = call.key_heads,
                                      .value_heads = call.value_heads,
                                      .key_dim = call.key_dim,
                                      .value_dim = call.value_dim,
                                      .state = call.state,
                                      .entry_keys = call.entry_keys,
                                      .entry_values = call.entry_values,
                                      .entry_decay = call.entry_decay};
  const std::size_t group = call.value_heads / call.key_heads;
  stream.pool().split(call.key_heads, 1, [&](std::size_t begin, std::size_t end, int thread) {
    kernels::DeltaNetArgs mine = args;
    mine.scratch = stream.scratch(thread, kernels::delta_net_scratch_floats(call.key_dim, call.value_dim));
    stream.kernels().delta_net(mine, begin * group, end * group);
  });
}

void fold(Stream& stream, const DeltaFoldCall& call) {
  const kernels::DeltaFoldArgs args = {.state = call.state,
                                       .out = call.next_state,
                                       .entry_keys = call.entry_keys,
                                       .entry_values = call.entry_values,
                                       .entry_decay = call.entry_decay,
                                       .entries = call.entries,
                                       .key_heads = call.key_heads,
                                       .value_heads = call.value_heads,
                                       .key_dim = call.key_dim,
                                       .value_dim = call.value_dim};
  stream.pool().split(call.value_heads, 1, [&](std::size_t begin, std::size_t end, int) {
    stream.kernels().delta_fold(args, begin, end);
  });
}

}  // namespace

void causal_conv(Stream& stream, std::span<const CausalConvCall> calls, const Tensor& w) {
  for (const CausalConvCall& call : calls) convolve(stream, call, w);
}

void delta_net_gates(Stream& /*stream*/, const Tensor& b, const Tensor& a, const Tensor& a_log,
                     const Tensor& dt_bias) {
  check_shape(a.shape == b.shape && a_log.element_count() == a.shape.back(), "delta_net_gates", a);
  check_shape(dt_bias.element_count() == a.shape.back(), "delta_net_gates", dt_bias);
  kernels::delta_net_gates(b.floats().data(), a.floats().data(), b.floats().data(), a.floats().data(),
                           a_log.floats().data(), dt_bias.floats().data(), a.rows(), a.columns());
}

void delta_net(Stream& stream, std::span<const DeltaNetCall> calls) {
  for (const DeltaNetCall& call : calls) advance(stream, call);
}

void delta_fold(Stream& stream, std::span<const DeltaFoldCall> calls) {
  for (const DeltaFoldCall& call : calls) fold(stream, call);
}

}  // namespace lanner::device::cpu
