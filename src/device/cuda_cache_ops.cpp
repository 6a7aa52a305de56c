// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/error.h"
#include "device/cuda_device.h"
#include "device/cuda_op_functions.h"
#include "device/shape_check.h"
#include "kernels/activation/elementwise.cuda.h"
#include "kernels/attention/attention.cuda.h"
#include "kernels/delta_net/delta_net.cuda.h"

namespace lanner::device::cuda {
namespace {

using kernels::AttentionRowCuda;
using kernels::kKvBlock;

constexpr std::size_t kMostHeadDim = 512;
constexpr std::size_t kMostSharingHeads = 16;

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

/// The elements of keys and values; throws Error kUnsupported for codes, which these kernels do not read.
DType element_type(KvType type) {
  if (type == KvType::kF32) return DType::kF32;
  if (type == KvType::kBF16) return DType::kBF16;
  throw Error(ErrorKind::kUnsupported,
              "keys and values in 8, 6 or 4 bits run on the CPU only; use --kv-type bf16");
}

/// Attention of rows that lie side by side from call.q on.
void run_rows(CudaDevice& device, const AttentionCall& call, std::span<const AttentionRowCuda> rows,
              bool one_sequence) {
  kernels::AttentionCudaArgs args = {.q = floats(call.q),
                                     .out = floats(call.out),
                                     .row = device.stage(rows),
                                     .rows = rows.size(),
                                     .q_heads = static_cast<std::size_t>(call.q.shape[1]),
                                     .kv_heads = call.kv_heads,
                                     .head_dim = call.q.columns(),
                                     .scale = call.scale,
                                     .dtype = element_type(call.kv.type),
                                     .one_sequence = one_sequence,
                                     .parts = parts_of(rows)};
  const std::size_t bytes = kernels::attention_cuda_scratch_bytes(args, device.multiprocessors());
  if (bytes > 0) args.scratch = reinterpret_cast<float*>(device.scratch(bytes));
  kernels::attention_cuda(device, args);
}

kernels::DeltaShapeCuda shape_of(const auto& call) {
  return {.key_heads = static_cast<unsigned>(call.key_heads),
          .value_heads = static_cast<unsigned>(call.value_heads),
          .key_dim = static_cast<unsigned>(call.key_dim),
          .value_dim = static_cast<unsigned>(call.value_dim)};
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
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t position = write.position + r;
      auto* block = static_cast<std::byte*>(write.blocks[position / kKvBlock - write.first_block]);
      rows.push_back({floats(write.x) + r * width, block + position % kKvBlock * write.x.columns() *
                                                               size_bytes(element_type(write.type))});
    }
  }
  const KvWrite& any = writes.front();
  CudaDevice& device = stream.cuda();
  kernels::write_kv_cuda(device, device.stage(std::span<const kernels::KvRowCuda>(rows)), rows.size(),
                         static_cast<std::size_t>(any.x.shape[1]), any.x.columns(), element_type(any.type));
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
    run_rows(device, first, rows, next - i == 1);
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
  std::vector<kernels::DeltaNetRowsCuda> sequences;
  std::size_t rows = 0;
  for (const DeltaNetCall& call : calls) {
    check_shape(call.qkv.columns() == 2 * call.key_heads * call.key_dim + call.value_heads * call.value_dim &&
                    call.key_dim % 4 == 0,
                "delta_net", call.qkv);
    check_shape(call.first + call.qkv.rows() <= kDeltaChunk, "delta_net", call.qkv);
    sequences.push_back({.qkv = floats(call.qkv),
                         .beta = floats(call.beta),
                         .log_decay = floats(call.log_decay),
                         .out = floats(call.out),
                         .state = call.state,
                         .entry_keys = call.entry_keys,
                         .entry_values = call.entry_values,
                         .entry_decay = call.entry_decay,
                         .rows = static_cast<unsigned>(call.qkv.rows()),
                         .first = static_cast<unsigned>(call.first)});
    rows = std::max(rows, call.qkv.rows());
  }
  CudaDevice& device = stream.cuda();
  std::byte* scratch = device.scratch(kernels::delta_net_cuda_scratch_bytes(calls.size(), shape));
  kernels::delta_net_cuda(device, device.stage(std::span<const kernels::DeltaNetRowsCuda>(sequences)),
                          calls.size(), rows, shape, reinterpret_cast<float*>(scratch));
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
