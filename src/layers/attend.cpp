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

}  // namespace

Tensor prepare_heads(Step& step, std::size_t layer, const RawHeads& raw, const HeadNorms& norms,
                     const Rope& rope, const RopeTables& tables) {
  const std::size_t head_dim = rope.shape().head_dim;
  const auto heads = static_cast<std::int64_t>(raw.q_heads);
  const Tensor q = step.floats({raw.q.shape[0], heads, static_cast<std::int64_t>(head_dim)});
  std::vector<device::KvWrite> writes;
  if (raw.k.data != nullptr) writes = kv_writes(step, layer, raw.k, raw.v);
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
  step.ops.attention_heads(step.stream, call);
  return q;
}

Tensor attend(Step& step, std::size_t layer, const Packing& rows, const Tensor& q, float scale) {
  return attend_gated(step, layer, rows, q, scale, nullptr, 0);
}

Tensor attend_gated(Step& step, std::size_t layer, const Packing& rows, const Tensor& q, float scale,
                    const float* gate, std::size_t gate_head) {
  const Tensor out = step.floats(q.shape);
  std::vector<std::int32_t> key_begin(rows.rows());
  std::vector<std::int32_t> key_end(rows.rows());
  std::vector<device::AttentionCall> calls;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    const Packing::Range range = rows.groups[g];
    if (range.begin == range.end) continue;
    const cache::KvCache& kv = step.groups()[g].cache->kv(layer);
    for (std::size_t row = range.begin; row < range.end; ++row) {
      const std::int32_t position = rows.key_positions[row];
      key_begin[row] = static_cast<std::int32_t>(kv.visible_from(static_cast<std::size_t>(position)));
      key_end[row] = position + 1;
    }
    calls.push_back({.out = part(out, range),
                     .q = part(q, range),
                     .kv_heads = kv.geometry().kv_heads,
                     .scale = scale,
                     .kv = kv.blocks(),
                     .key_begin = std::span(key_begin).subspan(range.begin, range.end - range.begin),
                     .key_end = std::span(key_end).subspan(range.begin, range.end - range.begin)});
    if (gate == nullptr) continue;
    calls.back().gate = gate + range.begin * static_cast<std::size_t>(q.shape[1]) * gate_head;
    calls.back().gate_head = gate_head;
  }
  step.ops.attention(step.stream, calls);
  return out;
}

}  // namespace lanner::layers
