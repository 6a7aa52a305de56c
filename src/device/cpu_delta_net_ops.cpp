// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {

namespace {

/// Splits calls of `width` units each over the threads in one region: body(call, begin, end, thread) for
/// units [begin, end) of one call.
template <typename Call, typename Body>
void split_calls(Stream& stream, std::span<const Call> calls, std::size_t width, Body&& body) {
  stream.pool().split(calls.size() * width, 1, [&](std::size_t begin, std::size_t end, int thread) {
    while (begin < end) {
      const std::size_t call = begin / width;
      const std::size_t stop = std::min(end, (call + 1) * width);
      body(calls[call], begin - call * width, stop - call * width, thread);
      begin = stop;
    }
  });
}

kernels::DeltaNetArgs checked_args(const DeltaNetCall& call) {
  const std::size_t key_width = call.key_heads * call.key_dim;
  const std::size_t value_width = call.value_heads * call.value_dim;
  const std::size_t rows = call.qkv.rows();
  check_shape(call.qkv.columns() == 2 * key_width + value_width, "delta_net", call.qkv);
  check_shape(call.first + rows <= kernels::kDeltaChunk, "delta_net", call.qkv);
  check_shape(static_cast<std::size_t>(call.out.element_count()) == rows * value_width, "delta_net",
              call.out);
  const float* qkv = call.qkv.floats().data();
  return {.q = qkv,
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
}

}  // namespace

void causal_conv(Stream& stream, std::span<const CausalConvCall> calls, const Tensor& w) {
  for (const CausalConvCall& call : calls)
    check_shape(call.out.shape == call.x.shape && w.columns() == call.x.columns(), "causal_conv", call.x);
  constexpr std::size_t kChannels = 256;  // of a unit
  const std::size_t units = (w.columns() + kChannels - 1) / kChannels;
  split_calls(stream, calls, units, [&](const CausalConvCall& call, std::size_t begin, std::size_t end, int) {
    stream.kernels().causal_conv({.x = call.x.floats().data(),
                                  .history = call.history,
                                  .w = w.floats().data(),
                                  .out = call.out.floats().data(),
                                  .rows = call.x.rows(),
                                  .channels = call.x.columns(),
                                  .taps = w.rows()},
                                 begin * kChannels, std::min(w.columns(), end * kChannels));
  });
}

void delta_net_gates(Stream& /*stream*/, const Tensor& b, const Tensor& a, const Tensor& a_log,
                     const Tensor& dt_bias) {
  check_shape(a.shape == b.shape && a_log.element_count() == a.shape.back(), "delta_net_gates", a);
  check_shape(dt_bias.element_count() == a.shape.back(), "delta_net_gates", dt_bias);
  kernels::delta_net_gates(b.floats().data(), a.floats().data(), b.floats().data(), a.floats().data(),
                           a_log.floats().data(), dt_bias.floats().data(), a.rows(), a.columns());
}

void delta_net(Stream& stream, std::span<const DeltaNetCall> calls) {
  if (calls.empty()) return;
  std::vector<kernels::DeltaNetArgs> args;
  for (const DeltaNetCall& call : calls) args.push_back(checked_args(call));
  const std::size_t group = args.front().value_heads / args.front().key_heads;
  split_calls(stream, std::span<const kernels::DeltaNetArgs>(args), args.front().key_heads,
              [&](kernels::DeltaNetArgs mine, std::size_t begin, std::size_t end, int thread) {
                mine.scratch =
                    stream.scratch(thread, kernels::delta_net_scratch_floats(mine.key_dim, mine.value_dim));
                stream.kernels().delta_net(mine, begin * group, end * group);
              });
}

void delta_fold(Stream& stream, std::span<const DeltaFoldCall> calls) {
  if (calls.empty()) return;
  split_calls(stream, calls, calls.front().value_heads,
              [&](const DeltaFoldCall& call, std::size_t begin, std::size_t end, int) {
                stream.kernels().delta_fold({.state = call.state,
                                             .out = call.next_state,
                                             .entry_keys = call.entry_keys,
                                             .entry_values = call.entry_values,
                                             .entry_decay = call.entry_decay,
                                             .entries = call.entries,
                                             .key_heads = call.key_heads,
                                             .value_heads = call.value_heads,
                                             .key_dim = call.key_dim,
                                             .value_dim = call.value_dim},
                                            begin, end);
              });
}

}  // namespace lanner::device::cpu
