// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "device/cpu_norm.h"
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
  check_shape(call.first + rows <= call.chunk || call.next_state != nullptr, "delta_net", call.qkv);
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
          .chunk = call.chunk,
          .state = call.state,
          .entry_keys = call.entry_keys,
          .entry_values = call.entry_values,
          .entry_decay = call.entry_decay};
}

/// Advances value heads [begin, end) through all rows, chunk by chunk.
void advance(const CpuKernels& kernels, kernels::DeltaNetArgs args, float* next_state, std::size_t begin,
             std::size_t end) {
  for (std::size_t left = args.rows; left > 0;) {
    args.rows = std::min(left, args.chunk - args.first);
    kernels.delta_net(args, begin, end);
    left -= args.rows;
    args.first += args.rows;
    args.q += args.rows * args.qkv_stride;
    args.k += args.rows * args.qkv_stride;
    args.v += args.rows * args.qkv_stride;
    args.beta += args.rows * args.value_heads;
    args.log_decay += args.rows * args.value_heads;
    args.out += args.rows * args.value_heads * args.value_dim;
    if (args.first < args.chunk || next_state == nullptr) continue;
    kernels.delta_fold({.state = args.state,
                        .out = next_state,
                        .entry_keys = args.entry_keys,
                        .entry_values = args.entry_values,
                        .entry_decay = args.entry_decay,
                        .entries = args.chunk,
                        .key_heads = args.key_heads,
                        .value_heads = args.value_heads,
                        .key_dim = args.key_dim,
                        .value_dim = args.value_dim,
                        .chunk = args.chunk},
                       begin, end);
    args.state = next_state;
    args.first = 0;
  }
}

/// Calls body(begin, end) for channels [begin, end) of q, of k and of v that belong to key heads [first,
/// last).
template <typename Body>
void visit_channels(const DeltaNetCall& call, std::size_t first, std::size_t last, Body&& body) {
  const std::size_t keys = call.key_heads * call.key_dim;
  const std::size_t values = call.value_heads / call.key_heads * call.value_dim;  // of a key head
  body(first * call.key_dim, last * call.key_dim);
  body(keys + first * call.key_dim, keys + last * call.key_dim);
  body(2 * keys + first * values, 2 * keys + last * values);
}

/// push_history() for channels [begin, end).
void push_channels(const HistoryPush& push, std::size_t begin, std::size_t end) {
  const std::size_t channels = push.x.columns();
  const std::size_t rows = push.x.rows();
  for (std::size_t row = 0; row < push.rows; ++row) {
    const std::size_t at = row + rows;  // row of [history; x]
    const float* from = at < push.rows ? push.history + at * channels : push.x.row(at - push.rows).data();
    std::copy(from + begin, from + end, push.history + row * channels + begin);
  }
}

/// One sequence's rows of delta_mix() for key heads [first, last) and the value heads that use them: nothing
/// of it reads what belongs to another key head.
void mix_heads(const CpuKernels& kernels, const DeltaMixCall& call, const DeltaMixWeights& weights,
               kernels::DeltaNetArgs args, std::size_t first, std::size_t last) {
  const std::size_t rows = args.rows;
  const std::size_t key_width = args.key_heads * args.key_dim;
  const std::size_t group = args.value_heads / args.key_heads;
  const std::size_t head = first * group;
  const std::size_t heads = (last - first) * group;
  visit_channels(call.rows, first, last, [&](std::size_t begin, std::size_t end) {
    kernels.causal_conv({.x = call.x.floats().data(),
                         .history = call.history,
                         .w = weights.conv.floats().data(),
                         .out = call.rows.qkv.floats().data(),
                         .rows = rows,
                         .channels = call.x.columns(),
                         .taps = weights.conv.rows()},
                        begin, end);
    push_channels(call.push, begin, end);
  });
  for (std::size_t row = 0; row < rows; ++row) {
    const auto q = call.rows.qkv.row(row).subspan(first * args.key_dim, (last - first) * args.key_dim);
    const auto k =
        call.rows.qkv.row(row).subspan(key_width + first * args.key_dim, (last - first) * args.key_dim);
    kernels.l2_norm(q, q, args.key_dim, kL2NormEps, weights.query_scale);
    kernels.l2_norm(k, k, args.key_dim, kL2NormEps, 1.0F);
    float* const beta = call.rows.beta.row(row).data() + head;
    float* const log_decay = call.rows.log_decay.row(row).data() + head;
    kernels::delta_net_gates(beta, log_decay, beta, log_decay, weights.a_log.floats().data() + head,
                             weights.dt_bias.floats().data() + head, 1, heads);
  }
  kernels.delta_net(args, head, head + heads);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t begin = (row * args.value_heads + head) * args.value_dim;
    const auto out = call.rows.out.floats().subspan(begin, heads * args.value_dim);
    const auto z = call.z.floats().subspan(begin, heads * args.value_dim);
    kernels.gated_rms_norm(out, out, z, weights.gain.floats(), weights.eps);
  }
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
  const std::size_t heads = args.front().key_heads;
  const std::size_t group = args.front().value_heads / heads;
  const auto advance_heads = [&](std::size_t call, std::size_t begin, std::size_t end, int thread) {
    kernels::DeltaNetArgs mine = args[call];
    mine.scratch = stream.scratch(thread, kernels::delta_net_scratch_floats(mine.key_dim, mine.value_dim));
    advance(stream.kernels(), mine, calls[call].next_state, begin * group, end * group);
  };
  // One sequence goes through its chunks with all heads of a thread, whose columns of a row are neighbours.
  // Several differ in length, so theirs are handed out one key head at a time.
  if (calls.size() == 1)
    return stream.pool().split(heads, 1, [&](std::size_t begin, std::size_t end, int thread) {
      advance_heads(0, begin, end, thread);
    });
  stream.pool().each(calls.size() * heads, [&](std::size_t item, int thread) {
    advance_heads(item / heads, item % heads, item % heads + 1, thread);
  });
}

void delta_mix(Stream& stream, std::span<const DeltaMixCall> calls, const DeltaMixWeights& weights) {
  for (const DeltaMixCall& call : calls) {
    check_shape(call.x.shape == call.rows.qkv.shape && weights.conv.columns() == call.x.columns(),
                "delta_mix", call.x);
    check_shape(call.z.element_count() == call.rows.out.element_count(), "delta_mix", call.z);
  }
  split_calls(stream, calls, calls.front().rows.key_heads,
              [&](const DeltaMixCall& call, std::size_t begin, std::size_t end, int thread) {
                kernels::DeltaNetArgs args = checked_args(call.rows);
                args.scratch =
                    stream.scratch(thread, kernels::delta_net_scratch_floats(args.key_dim, args.value_dim));
                mix_heads(stream.kernels(), call, weights, args, begin, end);
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
                                             .value_dim = call.value_dim,
                                             .chunk = call.chunk},
                                            begin, end);
              });
}

}  // namespace lanner::device::cpu
