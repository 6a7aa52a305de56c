// SPDX-License-Identifier: MIT
#include "layers/moe.h"

namespace lanner::layers {

Routing route(Step& step, const Tensor& logits, std::size_t k, const Tensor& expert_scale) {
  const std::size_t count = logits.rows() * k;
  const Routing routing{
      {static_cast<std::int32_t*>(step.arena.allocate(count * sizeof(std::int32_t))), count},
      {static_cast<float*>(step.arena.allocate(count * sizeof(float))), count},
      k};
  step.ops.route(step.stream, {.experts = routing.experts,
                               .weights = routing.weights,
                               .logits = logits,
                               .expert_scale = expert_scale,
                               .k = k});
  return routing;
}

Tensor Experts::operator()(Step& step, const Tensor& x, const Routing& routing) const {
  const Tensor out = step.floats(x.shape);
  step.ops.experts(step.stream, step.arena,
                   {.out = out,
                    .x = x,
                    .experts = routing.experts,
                    .weights = routing.weights,
                    .gate = gate,
                    .up = up,
                    .down = down,
                    .activation = activation});
  return out;
}

Experts Experts::joined_by(const FeedForward& shared) const {
  const auto alike = [](const device::Matrix& a, const device::Matrix& b) {
    return a.view().spec == b.view().spec && a.rows() == b.rows() && a.columns() == b.columns();
  };
  if (!alike(gate.front(), shared.gate.weight()) || !alike(up.front(), shared.up.weight()) ||
      !alike(down.front(), shared.down.weight()) || activation != shared.activation)
    return {};
  Experts all = *this;
  all.gate.push_back(shared.gate.weight());
  all.up.push_back(shared.up.weight());
  all.down.push_back(shared.down.weight());
  return all;
}

void Experts::run_routed(Step& step, const Tensor& out, const Normed& in, const Routed& routed) const {
  step.ops.routed_experts(step.stream, step.arena,
                          {.out = out,
                           .residual = routed.residual,
                           .in = in.input(),
                           .logits = routed.logits,
                           .expert_scale = routed.expert_scale,
                           .shared_gate = routed.shared_gate,
                           .k = routed.k,
                           .gate = gate,
                           .up = up,
                           .down = down,
                           .activation = activation});
}

}  // namespace lanner::layers
