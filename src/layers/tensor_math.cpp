// SPDX-License-Identifier: MIT
#include "layers/tensor_math.h"

namespace lanner::layers {

Tensor add(Step& step, const Tensor& a, const Tensor& b) {
  const Tensor out = step.floats(a.shape);
  step.ops.add(step.stream, out, a, b);
  return out;
}

Tensor scale(Step& step, const Tensor& x, float factor) {
  const Tensor out = step.floats(x.shape);
  step.ops.scale(step.stream, out, x, factor);
  return out;
}

Tensor gelu_mul(Step& step, const Tensor& gate, const Tensor& up) {
  const Tensor out = step.floats(gate.shape);
  step.ops.gated_activation(step.stream, out, gate, up, device::GatedActivation::kGeluTanh);
  return out;
}

Tensor softcap(Step& step, const Tensor& x, float cap) {
  const Tensor out = step.floats(x.shape);
  step.ops.softcap(step.stream, out, x, cap);
  return out;
}

Tensor split_heads(const Tensor& x, std::size_t heads) {
  return x.reshaped(
      {x.shape[0], static_cast<std::int64_t>(heads), x.shape[1] / static_cast<std::int64_t>(heads)});
}

Tensor join_heads(const Tensor& x) { return x.reshaped({x.shape[0], x.shape[1] * x.shape[2]}); }

}  // namespace lanner::layers
