// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/error.h"
#include "device/cuda_device.h"
#include "device/cuda_op_functions.h"
#include "device/shape_check.h"
#include "kernels/activation/elementwise.cuda.h"
#include "kernels/attention/attention.cuda.h"
#include "kernels/attention/attention_heads.cuda.h"
#include "kernels/delta_net/delta_net.cuda.h"

namespace lanner::device::cuda {
namespace {

using kernels::AttentionRowCuda;
using kernels::kKvBlock;

constexpr std::size_t kMostHeadDim = 512;
constexpr std::size_t kMostSharingHeads = 16;
constexpr std::size_t kMostDeltaDim = 128;
// Of the delta net's query and key norm; see cpu_token_ops.cpp.
constexpr float kL2NormEps = 1e-6F;

void check_attention(const AttentionCall& call) {
  const auto rows = static_cast<std::size_t>(call.q.shape[0]);
  const auto q_heads = static_cast<std::size_t>(call.q.shape[1]);
  check_shape(call.out.shape == call.q.shape && q_heads % call.kv_heads == 0, "attention", call.q);
  check_shape(call.key_begin.size() == rows && call.key_end.size() == rows, "attention", call.q);
  if (call.q.columns() % 8 != 0 || call.q.columns() > kMostHeadDim ||
      q_heads / call.kv_heads > kMostSharingHeads)
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format(
            "attention on a GPU: {} query heads for {} key heads of size {}; the size must be a multiple "
            "of 8 up to {}, and at most {} query heads may share a key head",
            q_heads, call.kv_heads, call.q.columns(), kMostHeadDim, kMostSharingHeads));
}

/// Parts that a row may touch, rounded up so that the launch stays the same for many steps.
std::size_t parts_of(std::span<const AttentionRowCuda> rows) {
  std::size_t most = 1;
  for (const AttentionRowCuda& row : rows) {
    const auto begin = static_cast<std::size_t>(row.begin) / kernels::kAttentionPart;
    const auto end =
        (static_cast<std::size_t>(row.end) + kernels::kAttentionPart - 1) / kernels::kAttentionPart;
    most = std::max(most, end - begin);
  }
  std::size_t parts = 1;
  while (parts < most) parts *= 2;
  return parts;
}

/// What the rows of one sequence read; its block tables are staged once.
void append_rows(CudaDevice& device, std::vector<AttentionRowCuda>& rows, const AttentionCall& call) {
  const auto* keys =
      static_cast<const void* const*>(device.stage(call.kv.keys.data(), call.kv.keys.size_bytes()));
  const auto* values =
      static_cast<const void* const*>(device.stage(call.kv.values.data(), call.kv.values.size_bytes()));
  for (std::size_t r = 0; r < call.key_begin.size(); ++r)
    rows.push_back({.keys = keys,
                    .values = values,
                    .first_block = static_cast<std::int32_t>(call.kv.first_block),
                    .begin = call.key_begin[r],
                    .end = call.key_end[r]});
}

/// The arguments for rows that lie side by side from call.q on.
kernels::AttentionCudaArgs attention_args(CudaDevice& device, const AttentionCall& call,
                                          std::span<const AttentionRowCuda> rows, bool one_sequence) {
  kernels::AttentionCudaArgs args = {.q = floats(call.q),
                                     .out = floats(call.out),
                                     .gate = call.gate,
                                     .gate_head = call.gate_head,
                                     .row = device.stage(rows),
                                     .rows = rows.size(),
                                     .q_heads = static_cast<std::size_t>(call.q.shape[1]),
                                     .kv_heads = call.kv_heads,
                                     .head_dim = call.q.columns(),
                                     .scale = call.scale,
                                     .type = call.kv.type,
                                     .bits = static_cast<unsigned>(kernels::code_bits(call.kv.type)),
                                     .one_sequence = one_sequence,
                                     .parts = parts_of(rows)};
  const std::size_t bytes = kernels::attention_cuda_scratch_bytes(args, device.multiprocessors());
  if (bytes > 0) args.scratch = reinterpret_cast<float*>(device.scratch(bytes));
  return args;
}

kernels::DeltaShapeCuda shape_of(const auto& call) {
  return {.key_heads = static_cast<unsigned>(call.key_heads),
          .value_heads = static_cast<unsigned>(call.value_heads),
          .key_dim = static_cast<unsigned>(call.key_dim),
          .value_dim = static_cast<unsigned>(call.value_dim)};
}

void check_delta(const DeltaNetCall& call) {
  check_shape(call.qkv.columns() == 2 * call.key_heads * call.key_dim + call.value_heads * call.value_dim &&
                  call.first < kMostDeltaChunk && call.chunk == kMostDeltaChunk,
              "delta_net", call.qkv);
  check_shape(call.next_state != nullptr || call.first + call.qkv.rows() <= kMostDeltaChunk, "delta_net",
              call.qkv);
  if (call.key_dim % 4 != 0 || call.key_dim > kMostDeltaDim || call.value_dim > kMostDeltaDim)
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the delta rule on a GPU: keys of size {} and values of size {}; keys must be a "
                            "multiple of 4, both at most {}",
                            call.key_dim, call.value_dim, kMostDeltaDim));
}

kernels::DeltaNetRowsCuda delta_rows(const DeltaNetCall& call) {
  return {.qkv = floats(call.qkv),
          .beta = floats(call.beta),
          .log_decay = floats(call.log_decay),
          .out = floats(call.out),
          .state = call.state,
          .next_state = call.next_state,
          .entry_keys = call.entry_keys,
          .entry_values = call.entry_values,
          .entry_decay = call.entry_decay,
          .rows = static_cast<unsigned>(call.qkv.rows()),
          .first = static_cast<unsigned>(call.first)};
}

/// Where row r of a write goes.
kernels::KvPlaceCuda place_of(const KvWrite& write, std::size_t r) {
  const std::size_t position = write.position + r;
  return {.block = write.blocks[position / kKvBlock - write.first_block],
          .place = static_cast<std::uint32_t>(position % kKvBlock)};
}

}  // namespace

void push_history(Stream& stream, std::span<const HistoryPush> pushes) {
  std::vector<kernels::HistoryPushCuda> calls;
  for (const HistoryPush& push : pushes)
    calls.push_back({push.history, floats(push.x), static_cast<std::uint32_t>(push.rows),
                     static_cast<std::uint32_t>(push.x.rows())});
  CudaDevice& device = stream.cuda();
  kernels::push_history_cuda(device, device.stage(std::span<const kernels::HistoryPushCuda>(calls)),
                             calls.size(), pushes.front().x.columns());
}

void write_kv(Stream& stream, std::span<const KvWrite> writes) {
  std::vector<kernels::KvRowCuda> rows;
  for (const KvWrite& write : writes) {
    check_shape(write.x.shape.rank() == 3, "write_kv", write.x);
    const auto count = static_cast<std::size_t>(write.x.shape[0]);
    check_shape((write.position + count + kKvBlock - 1) / kKvBlock <= write.first_block + write.blocks.size(),
                "write_kv", write.x);
    const std::size_t width = static_cast<std::size_t>(write.x.shape[1]) * write.x.columns();
    for (std::size_t r = 0; r < count; ++r) rows.push_back({floats(write.x) + r * width, place_of(write, r)});
  }
  const KvWrite& any = writes.front();
  CudaDevice& device = stream.cuda();
  kernels::write_kv_cuda(device, device.stage(std::span<const kernels::KvRowCuda>(rows)), rows.size(),
                         static_cast<std::size_t>(any.x.shape[1]), any.x.columns(), any.type);
}

void attention(Stream& stream, std::span<const AttentionCall> calls) {
  CudaDevice& device = stream.cuda();
  for (std::size_t i = 0; i < calls.size();) {
    const AttentionCall& first = calls[i];
    check_attention(first);
    std::vector<AttentionRowCuda> rows;
    append_rows(device, rows, first);
    std::size_t next = i + 1;
    // Single rows of neighbouring sequences go together; several rows of one sequence share its keys.
    for (; rows.size() == next - i && next < calls.size() && calls[next].q.shape[0] == 1; ++next)
      append_rows(device, rows, calls[next]);
    kernels::attention_cuda(device, attention_args(device, first, rows, next - i == 1));
    i = next;
  }
}

void causal_conv(Stream& stream, std::span<const CausalConvCall> calls, const Tensor& w) {
  std::vector<kernels::CausalConvCuda> sequences;
  std::size_t rows = 0;
  for (const CausalConvCall& call : calls) {
    check_shape(call.out.shape == call.x.shape && w.columns() == call.x.columns(), "causal_conv", call.x);
    sequences.push_back({.x = floats(call.x),
                         .history = call.history,
                         .out = floats(call.out),
                         .rows = static_cast<unsigned>(call.x.rows())});
    rows = std::max(rows, call.x.rows());
  }
  CudaDevice& device = stream.cuda();
  kernels::causal_conv_cuda(device, device.stage(std::span<const kernels::CausalConvCuda>(sequences)),
                            sequences.size(), rows, w.columns(), floats(w), w.rows());
}

void delta_net_gates(Stream& stream, const Tensor& b, const Tensor& a, const Tensor& a_log,
                     const Tensor& dt_bias) {
  check_shape(a.shape == b.shape && a_log.element_count() == a.shape.back(), "delta_net_gates", a);
  check_shape(dt_bias.element_count() == a.shape.back(), "delta_net_gates", dt_bias);
  kernels::delta_net_gates_cuda(stream.cuda(), floats(b), floats(a), floats(a_log), floats(dt_bias), a.rows(),
                                a.columns());
}

void delta_net(Stream& stream, std::span<const DeltaNetCall> calls) {
  const kernels::DeltaShapeCuda shape = shape_of(calls.front());
  std::vector<kernels::DeltaNetRowsCuda> few;
  std::vector<kernels::DeltaNetRowsCuda> many;
  std::size_t most = 0;
  for (const DeltaNetCall& call : calls) {
    const std::size_t rows = call.qkv.rows();
    check_delta(call);
    const bool ends_inside = call.first + rows <= kMostDeltaChunk && call.next_state == nullptr;
    if (rows <= kernels::kDeltaStepRows && ends_inside) {
      few.push_back(delta_rows(call));
    } else {
      many.push_back(delta_rows(call));
      most = std::max(most, call.first + rows);
    }
  }
  CudaDevice& device = stream.cuda();
  if (!few.empty())
    kernels::delta_step_cuda(device, device.stage(std::span<const kernels::DeltaNetRowsCuda>(few)),
                             few.size(), shape);
  if (many.empty()) return;
  std::byte* scratch = device.scratch(kernels::delta_run_cuda_scratch_bytes(many.size(), most, shape));
  kernels::delta_run_cuda(device, device.stage(std::span<const kernels::DeltaNetRowsCuda>(many)), many.size(),
                          most, shape, reinterpret_cast<float*>(scratch));
}

bool can_mix(std::size_t rows, std::size_t taps) { return rows <= kernels::kDeltaStepRows && taps == 4; }

void delta_mix(Stream& stream, std::span<const DeltaMixCall> calls, const DeltaMixWeights& weights) {
  kernels::DeltaShapeCuda shape = shape_of(calls.front().rows);
  shape.gain = floats(weights.gain);
  shape.eps = weights.eps;
  std::vector<kernels::DeltaMixCuda> mixes;
  for (const DeltaMixCall& call : calls) {
    check_delta(call.rows);
    check_shape(call.x.shape == call.rows.qkv.shape && call.rows.first + call.x.rows() <= kMostDeltaChunk,
                "delta_mix", call.x);
    mixes.push_back({.rows = delta_rows(call.rows),
                     .x = floats(call.x),
                     .history = call.history,
                     .next_history = call.push.history,
                     .qkv = floats(call.rows.qkv),
                     .beta = floats(call.rows.beta),
                     .log_decay = floats(call.rows.log_decay),
                     .kept = call.push.rows});
    mixes.back().rows.z = floats(call.z);
  }
  CudaDevice& device = stream.cuda();
  kernels::delta_mix_cuda(device, device.stage(std::span<const kernels::DeltaMixCuda>(mixes)), mixes.size(),
                          shape,
                          {.conv = floats(weights.conv),
                           .a_log = floats(weights.a_log),
                           .dt_bias = floats(weights.dt_bias),
                           .eps = kL2NormEps,
                           .query_scale = weights.query_scale});
}

namespace {

kernels::AttentionHeadsCudaArgs heads_args(CudaDevice& device, const AttentionHeads& heads) {
  const auto rows = static_cast<std::size_t>(heads.q_out.shape[0]);
  check_shape(heads.q_out.columns() == heads.rope.head_dim && heads.q_out.columns() <= kMostHeadDim,
              "attention_heads", heads.q_out);
  const bool own = heads.k.data != nullptr;
  std::vector<kernels::KvPlacesCuda> places(own ? rows : 0);
  std::size_t row = 0;
  for (std::size_t i = 0; i < heads.writes.size(); i += 2) {
    const auto count = static_cast<std::size_t>(heads.writes[i].x.shape[0]);
    for (std::size_t r = 0; r < count; ++r, ++row)
      places[row] = {.key = place_of(heads.writes[i], r), .value = place_of(heads.writes[i + 1], r)};
  }
  check_shape(row == places.size(), "attention_heads", heads.q_out);
  return {.q = heads.q,
          .k = floats(heads.k),
          .v = floats(heads.v),
          .q_out = floats(heads.q_out),
          .place = own ? device.stage(std::span<const kernels::KvPlacesCuda>(places)) : nullptr,
          .q_gain = floats(heads.q_gain),
          .k_gain = floats(heads.k_gain),
          .cos = floats(heads.cos),
          .sin = floats(heads.sin),
          .rows = static_cast<std::uint32_t>(rows),
          .q_row = static_cast<std::uint32_t>(heads.q_row),
          .q_head = static_cast<std::uint32_t>(heads.q_head),
          .q_heads = static_cast<std::uint32_t>(heads.q_out.shape[1]),
          .kv_heads = own ? static_cast<std::uint32_t>(heads.k.shape[1]) : 0U,
          .head_dim = static_cast<std::uint32_t>(heads.q_out.columns()),
          .frequencies = static_cast<std::uint32_t>(heads.rope.frequencies),
          .pair_offset = static_cast<std::uint32_t>(heads.rope.pair_offset),
          .q_eps = heads.q_eps,
          .k_eps = heads.k_eps,
          .v_eps = heads.v_eps,
          .norm_values = heads.norm_values,
          .type = own ? heads.writes.front().type : KvType::kF32};
}

}  // namespace

void attention_heads(Stream& stream, const AttentionHeads& heads) {
  CudaDevice& device = stream.cuda();
  kernels::attention_heads_cuda(device, heads_args(device, heads));
}

void attend_heads(Stream& stream, const AttentionHeads& heads, std::span<const AttentionCall> calls) {
  CudaDevice& device = stream.cuda();
  const bool alone = std::ranges::all_of(calls, [](const AttentionCall& c) { return c.q.shape[0] == 1; });
  if (alone && !calls.empty() && calls.size() == static_cast<std::size_t>(heads.q_out.shape[0])) {
    const kernels::AttentionHeadsCudaArgs prepared = heads_args(device, heads);
    std::vector<AttentionRowCuda> rows;
    for (const AttentionCall& call : calls) {
      check_attention(call);
      append_rows(device, rows, call);
    }
    const kernels::AttentionCudaArgs args = attention_args(device, calls.front(), rows, calls.size() == 1);
    if (kernels::can_attend_heads(prepared, args)) return kernels::attend_heads_cuda(device, prepared, args);
    kernels::attention_heads_cuda(device, prepared);
    return kernels::attention_cuda(device, args);
  }
  attention_heads(stream, heads);
  attention(stream, calls);
}

void delta_fold(Stream& stream, std::span<const DeltaFoldCall> calls) {
  std::vector<kernels::DeltaFoldCuda> sequences;
  for (const DeltaFoldCall& call : calls)
    sequences.push_back({.state = call.state,
                         .next_state = call.next_state,
                         .entry_keys = call.entry_keys,
                         .entry_values = call.entry_values,
                         .entry_decay = call.entry_decay,
                         .entries = static_cast<unsigned>(call.entries)});
  CudaDevice& device = stream.cuda();
  kernels::delta_fold_cuda(device, device.stage(std::span<const kernels::DeltaFoldCuda>(sequences)),
                           calls.size(), shape_of(calls.front()));
}

}  // namespace lanner::device::cuda
