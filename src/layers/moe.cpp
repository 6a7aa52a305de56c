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

}  // namespace lanner::layers
