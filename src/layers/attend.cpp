// SPDX-License-Identifier: MIT
#include "layers/attend.h"

#include <vector>

namespace lanner::layers {
namespace {

Tensor part(const Tensor& x, const Packing::Range& range) {
  return x.slice(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
}

}  // namespace

void append_kv(Step& step, std::size_t layer, const Tensor& k, const Tensor& v) {
  std::vector<device::KvWrite> writes;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    cache::SequenceCache& cache = *step.groups()[g].cache;
    const Packing::Range range = step.all().groups[g];
    const auto both = cache.kv(layer).writes(part(k, range), part(v, range), cache.length());
    writes.insert(writes.end(), both.begin(), both.end());
  }
  step.ops.write_kv(step.stream, writes);
}

Tensor attend(Step& step, std::size_t layer, const Packing& rows, const Tensor& q, float scale) {
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
  }
  step.ops.attention(step.stream, calls);
  return out;
}

}  // namespace lanner::layers
