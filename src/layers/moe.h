// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/matrix.h"
#include "layers/feed_forward.h"
#include "layers/linear.h"
#include "layers/step.h"

namespace lanner::layers {

/// The experts each row goes to, [T, K], ascending within a row, and their weights. In the step's arena,
/// which may be a device's.
struct Routing {
  std::span<std::int32_t> experts;
  std::span<float> weights;
  std::size_t k = 0;
};

/// Softmax over all experts in float, the k most probable (ties: lower id), renormalised to sum to one, then
/// times expert_scale [E] of the chosen when there is one.
Routing route(Step& step, const Tensor& logits, std::size_t k, const Tensor& expert_scale = {});

/// Routed gated feed-forwards.
struct Experts {
  std::vector<device::Matrix> gate;  ///< E of [F, D]
  std::vector<device::Matrix> up;    ///< E of [F, D]
  std::vector<device::Matrix> down;  ///< E of [D, F]
  device::GatedActivation activation = device::GatedActivation::kSilu;

  /// These and one more, where it has the same shapes and formats; else none.
  Experts joined_by(const FeedForward& shared) const;

  /// sum over a row's experts of weight * down( act(gate x) * up x ), in ascending expert order. x [T, D] →
  /// [T, D]
  Tensor operator()(Step& step, const Tensor& x, const Routing& routing) const;

  /// The same of a device that routes in one go with it: for norm(x), routed by logits [T, E]; see
  /// device::RoutedExpertsCall.
  struct Routed {
    Tensor logits;
    std::size_t k = 0;
    Tensor expert_scale = {};
    Tensor shared_gate = {};
    Tensor residual = {};
  };
  void run_routed(Step& step, const Tensor& out, const Normed& in, const Routed& routed) const;
};

}  // namespace lanner::layers
