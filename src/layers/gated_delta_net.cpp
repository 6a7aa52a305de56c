// SPDX-License-Identifier: MIT
#include "layers/gated_delta_net.h"

#include <cmath>
#include <vector>

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
  std::vector<device::CausalConvCall> convolutions;
  std::vector<device::HistoryPush> pushes;
  std::vector<cache::DeltaAppend> appends;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    cache::RecurrentCache& cache = step.groups()[g].cache->recurrent(layer);
    const auto begin = static_cast<std::int64_t>(step.all().groups[g].begin);
    const auto end = static_cast<std::int64_t>(step.all().groups[g].end);
    const Tensor c = qkv.slice(begin, end);
    convolutions.push_back({c, m.slice(begin, end), cache.conv_history()});
    pushes.push_back(cache.push_conv(m.slice(begin, end)));
    appends.push_back(
        {&cache, o_rows.slice(begin, end), c, beta.slice(begin, end), log_decay.slice(begin, end)});
  }
  step.ops.causal_conv(step.stream, convolutions, conv);
  step.ops.push_history(step.stream, pushes);
  step.ops.l2_norm(step.stream, qkv, 0, key_width, shape.key_dim,
                   1.0F / std::sqrt(static_cast<float>(shape.key_dim)));
  step.ops.l2_norm(step.stream, qkv, key_width, key_width, shape.key_dim, 1.0F);
  cache::append_delta(step.ops, step.stream, appends);
  step.ops.gated_rms_norm(step.stream, o, o, z, norm.weight, norm.eps);
  return out(step, o_rows);
}

}  // namespace lanner::layers
