// SPDX-License-Identifier: MIT
#include "layers/attend.h"

#include <vector>

namespace lanner::layers {
namespace {

std::vector<device::KvWrite> kv_writes(Step& step, std::size_t layer, const Tensor& k, const Tensor& v) {
  std::vector<device::KvWrite> writes;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    cache::SequenceCache& cache = *step.groups()[g].cache;
    const Packing::Range range = step.all().groups[g];
    const auto both = cache.kv(layer).writes(part(k, range), part(v, range), cache.length());
    writes.insert(writes.end(), both.begin(), both.end());
  }
  return writes;
}

device::AttentionHeads heads_call(const Tensor& q, const RawHeads& raw, const HeadNorms& norms,
                                  const Rope& rope, const RopeTables& tables,
                                  std::span<const device::KvWrite> writes) {
  device::AttentionHeads call = {.q_out = q,
                                 .q = static_cast<const float*>(raw.q.data),
                                 .q_row = raw.q.columns(),
                                 .q_head = raw.query_width,
                                 .k = raw.k,
                                 .v = raw.v,
                                 .q_gain = norms.q.weight,
                                 .q_eps = norms.q.eps,
                                 .cos = tables.cos,
                                 .sin = tables.sin,
                                 .rope = rope.shape(),
                                 .writes = writes};
  if (norms.k != nullptr) {
    call.k_gain = norms.k->weight;
    call.k_eps = norms.k->eps;
  }
  if (norms.v != nullptr) {
    call.norm_values = true;
    call.v_eps = norms.v->eps;
  }
  return call;
}

/// What each row may read.
struct KeyRanges {
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> end;
};

std::vector<device::AttentionCall> attention_calls(Step& step, std::size_t layer, const Packing& rows,
                                                   const Tensor& q, const Tensor& out, const Scores& scores,
                                                   KeyRanges& keys) {
  keys.begin.resize(rows.rows());
  keys.end.resize(rows.rows());
  std::vector<device::AttentionCall> calls;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    const Packing::Range range = rows.groups[g];
    if (range.begin == range.end) continue;
    const cache::KvCache& kv = step.groups()[g].cache->kv(layer);
    for (std::size_t row = range.begin; row < range.end; ++row) {
      const std::int32_t position = rows.key_positions[row];
      keys.begin[row] = static_cast<std::int32_t>(kv.visible_from(static_cast<std::size_t>(position)));
      keys.end[row] = position + 1;
    }
    calls.push_back({.out = part(out, range),
                     .q = part(q, range),
                     .kv_heads = kv.geometry().kv_heads,
                     .scale = scores.scale,
                     .kv = kv.blocks(),
                     .key_begin = std::span(keys.begin).subspan(range.begin, range.end - range.begin),
                     .key_end = std::span(keys.end).subspan(range.begin, range.end - range.begin)});
    if (scores.gate == nullptr) continue;
    calls.back().gate = scores.gate + range.begin * static_cast<std::size_t>(q.shape[1]) * scores.gate_head;
    calls.back().gate_head = scores.gate_head;
  }
  return calls;
}

}  // namespace

Tensor attend(Step& step, std::size_t layer, const Packing& rows, const RawHeads& raw, const HeadNorms& norms,
              const Rope& rope, const RopeTables& tables, const Scores& scores) {
  const Tensor q = step.floats({raw.q.shape[0], static_cast<std::int64_t>(raw.q_heads),
                                static_cast<std::int64_t>(rope.shape().head_dim)});
  const Tensor out = step.floats(q.shape);
  std::vector<device::KvWrite> writes;
  if (raw.k.data != nullptr) writes = kv_writes(step, layer, raw.k, raw.v);
  KeyRanges keys;
  const device::AttentionHeads heads = heads_call(q, raw, norms, rope, tables, writes);
  const auto calls = attention_calls(step, layer, rows, q, out, scores, keys);
  if (step.ops.attend_heads != nullptr) {
    step.ops.attend_heads(step.stream, heads, calls);
  } else {
    step.ops.attention_heads(step.stream, heads);
    step.ops.attention(step.stream, calls);
  }
  return out;
}

}  // namespace lanner::layers
