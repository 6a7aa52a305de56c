// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
#include <vector>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"
#include "kernels/moe/router.h"

namespace lanner::device::cpu {
namespace {

/// The (row, slot) pairs of each expert: pairs of expert e stand at [begin[e], begin[e+1]), rows ascending.
struct ExpertRows {
  std::vector<std::size_t> begin;
  std::vector<std::size_t> pairs;
};

ExpertRows group_by_expert(std::span<const std::int32_t> experts, std::size_t n_experts) {
  ExpertRows grouped{std::vector<std::size_t>(n_experts + 1), std::vector<std::size_t>(experts.size())};
  for (std::int32_t expert : experts) ++grouped.begin[static_cast<std::size_t>(expert) + 1];
  std::partial_sum(grouped.begin.begin(), grouped.begin.end(), grouped.begin.begin());
  std::vector<std::size_t> next(grouped.begin.begin(), grouped.begin.end() - 1);
  for (std::size_t pair = 0; pair < experts.size(); ++pair)
    grouped.pairs[next[static_cast<std::size_t>(experts[pair])]++] = pair;
  return grouped;
}

}  // namespace

void route(Stream& /*stream*/, const RouteCall& call) {
  const Tensor& logits = call.logits;
  check_shape(call.experts.size() == logits.rows() * call.k && call.weights.size() == call.experts.size(),
              "route", logits);
  kernels::route_top_k(call.experts.data(), call.weights.data(), logits.floats().data(), logits.rows(),
                       logits.columns(), call.k);
  if (call.expert_scale.data == nullptr) return;
  check_shape(call.expert_scale.element_count() == logits.shape.back(), "route", call.expert_scale);
  for (std::size_t i = 0; i < call.weights.size(); ++i)
    call.weights[i] *= call.expert_scale.floats()[static_cast<std::size_t>(call.experts[i])];
}

void experts(Stream& stream, Arena& arena, const ExpertsCall& call) {
  const std::size_t rows = call.x.rows();
  const std::size_t k = call.experts.size() / rows;
  const auto hidden = call.x.shape.back();
  const auto width = static_cast<std::int64_t>(call.gate.front().rows());
  check_shape(call.out.shape == call.x.shape && call.down.front().rows() == call.x.columns(), "experts",
              call.out);
  const ArenaScope scope(arena);
  const ExpertRows grouped = group_by_expert(call.experts, call.gate.size());
  // Every (row, slot) result is kept, then each row adds its own in slot order: no row waits on another's
  // experts.
  const Tensor y = arena.floats({static_cast<std::int64_t>(call.experts.size()), hidden});
  for (std::size_t e = 0; e < call.gate.size(); ++e) {
    const std::size_t begin = grouped.begin[e];
    const auto count = static_cast<std::int64_t>(grouped.begin[e + 1] - begin);
    if (count == 0) continue;
    const ArenaScope expert_scope(arena);
    const Tensor x = arena.floats({count, hidden});
    const Tensor gated = arena.floats({count, width});
    const Tensor down = arena.floats({count, hidden});
    for (std::size_t i = 0; i < x.rows(); ++i)
      std::ranges::copy(call.x.row(grouped.pairs[begin + i] / k), x.row(i).begin());
    gated_linear(stream, gated, call.gate[e], call.up[e], {.x = x}, call.activation);
    const LinearCall last{down, &call.down[e]};
    linear(stream, {&last, 1}, {.x = gated});
    for (std::size_t i = 0; i < x.rows(); ++i)
      std::ranges::copy(down.row(i), y.row(grouped.pairs[begin + i]).begin());
  }
  for (std::size_t t = 0; t < rows; ++t) {
    const auto out = call.out.row(t);
    std::ranges::fill(out, 0.0F);
    for (std::size_t slot = t * k; slot < (t + 1) * k; ++slot)
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += call.weights[slot] * y.row(slot)[i];
  }
}

}  // namespace lanner::device::cpu
