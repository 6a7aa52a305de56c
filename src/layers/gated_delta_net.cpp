// SPDX-License-Identifier: MIT
#include "layers/gated_delta_net.h"

#include <algorithm>
#include <cmath>

namespace lanner::layers {

float GatedDeltaNet::query_scale() const { return 1.0F / std::sqrt(static_cast<float>(shape.key_dim)); }

void GatedDeltaNet::mix(Step& step, const Rows& rows, std::vector<cache::DeltaAppend>& appends,
                        std::size_t layer) const {
  const std::size_t key_width = shape.key_heads * shape.key_dim;
  step.ops.delta_net_gates(step.stream, rows.beta, rows.log_decay, a_log, dt_bias);
  std::vector<device::CausalConvCall> convolutions;
  std::vector<device::HistoryPush> pushes;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    cache::RecurrentCache& cache = step.groups()[g].cache->recurrent(layer);
    const Tensor m = part(rows.m, step.all().groups[g]);
    convolutions.push_back({appends[g].qkv, m, cache.conv_history()});
    pushes.push_back(cache.push_conv(m));
  }
  step.ops.causal_conv(step.stream, convolutions, conv);
  step.ops.push_history(step.stream, pushes);
  step.ops.l2_norm(step.stream, rows.qkv, 0, key_width, shape.key_dim, query_scale());
  step.ops.l2_norm(step.stream, rows.qkv, key_width, key_width, shape.key_dim, 1.0F);
  cache::append_delta(step.ops, step.stream, appends);
  const auto heads = static_cast<std::int64_t>(rows.o.rows() * shape.value_heads);
  const Tensor o = rows.o.reshaped({heads, static_cast<std::int64_t>(shape.value_dim)});
  step.ops.gated_rms_norm(step.stream, o, o, rows.z, norm.weight, norm.eps);
}

void GatedDeltaNet::mix_few(Step& step, const Rows& rows, std::vector<cache::DeltaAppend>& appends,
                            std::size_t layer) const {
  std::vector<device::DeltaMixCall> calls;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    const Packing::Range range = step.all().groups[g];
    cache::RecurrentCache& cache = step.groups()[g].cache->recurrent(layer);
    const float* history = cache.conv_history();
    calls.push_back({.rows = cache.take_rows(appends[g]),
                     .x = part(rows.m, range),
                     .history = history,
                     .push = cache.push_conv(part(rows.m, range)),
                     .z = part(rows.z, range)});
    appends[g].done = range.end - range.begin;
  }
  step.ops.delta_mix(step.stream, calls,
                     {.conv = conv,
                      .a_log = a_log,
                      .dt_bias = dt_bias,
                      .gain = norm.weight,
                      .eps = norm.eps,
                      .query_scale = query_scale()});
  cache::append_delta(step.ops, step.stream, appends);  // folds what became whole
}

Tensor GatedDeltaNet::operator()(Step& step, const Normed& in, const Tensor& residual,
                                 std::size_t layer) const {
  const auto count = static_cast<std::int64_t>(in.rows().rows());
  const auto [m, z, beta, log_decay] = project<4>(step, in, {&in_qkv, &in_z, &in_b, &in_a});
  const Rows rows = {
      .m = m,
      .z = z,
      .beta = beta,
      .log_decay = log_decay,
      .qkv = step.floats(m.shape),
      .o = step.floats({count, static_cast<std::int64_t>(shape.value_heads * shape.value_dim)})};
  bool few = true;
  std::vector<cache::DeltaAppend> appends;
  for (std::size_t g = 0; g < step.groups().size(); ++g) {
    const Packing::Range range = step.all().groups[g];
    cache::RecurrentCache& cache = step.groups()[g].cache->recurrent(layer);
    const std::size_t length = range.end - range.begin;
    appends.push_back(
        {&cache, part(rows.o, range), part(rows.qkv, range), part(beta, range), part(log_decay, range)});
    few = few && step.ops.can_mix(length, shape.taps) && cache.fits_chunk(length);
  }
  if (few)
    mix_few(step, rows, appends, layer);
  else
    mix(step, rows, appends, layer);
  return add_product(step, residual, out, rows.o);
}

}  // namespace lanner::layers
