// SPDX-License-Identifier: MIT
#include "layers/gated_delta_net.h"

#include <cmath>

namespace lanner::layers {

Tensor GatedDeltaNet::operator()(Step& step, const Tensor& x, std::size_t layer) const {
  const auto rows = static_cast<std::int64_t>(x.rows());
  const std::size_t key_width = shape.key_heads * shape.key_dim;
  const auto [m, z, beta, log_decay] = project<4>(step, x, {&in_qkv, &in_z, &in_b, &in_a});
  step.ops.delta_net_gates(step.stream, beta, log_decay, a_log, dt_bias);

  const Tensor qkv = step.floats(m.shape);
  const Tensor o = step.floats(
      {rows * static_cast<std::int64_t>(shape.value_heads), static_cast<std::int64_t>(shape.value_dim)});
  const Tensor o_rows = o.reshaped({rows, static_cast<std::int64_t>(shape.value_heads * shape.value_dim)});
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    cache::RecurrentCache& cache = step.groups()[g].cache->recurrent(layer);
    const auto begin = static_cast<std::int64_t>(step.all().groups[g].begin);
    const auto end = static_cast<std::int64_t>(step.all().groups[g].end);
    const Tensor c = qkv.slice(begin, end);
    step.ops.causal_conv(step.stream, c, m.slice(begin, end), cache.conv_history(), conv);
    cache.append_conv(step.ops, step.stream, m.slice(begin, end));
    step.ops.l2_norm(step.stream, c, 0, key_width, shape.key_dim,
                     1.0F / std::sqrt(static_cast<float>(shape.key_dim)));
    step.ops.l2_norm(step.stream, c, key_width, key_width, shape.key_dim, 1.0F);
    cache.append_delta(step.ops, step.stream, o_rows.slice(begin, end), c, beta.slice(begin, end),
                       log_decay.slice(begin, end));
  }
  step.ops.gated_rms_norm(step.stream, o, o, z, norm.weight, norm.eps);
  return out(step, o_rows);
}

}  // namespace lanner::layers
