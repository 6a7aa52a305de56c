// SPDX-License-Identifier: MIT
#include <algorithm>

#include "device/cuda_device.h"
#include "device/cuda_op_functions.h"
#include "device/shape_check.h"
#include "device/tiled_matrix.h"
#include "kernels/activation/elementwise.cuda.h"
#include "kernels/moe/router.cuda.h"

namespace lanner::device::cuda {
namespace {

using kernels::ProductGate;

constexpr std::size_t kMostExperts = 1024;
constexpr std::size_t kMostChosen = 32;

/// One call's experts and where their rows stand.
struct Routed {
  const ExpertsCall& call;
  kernels::GroupPairsCudaArgs groups;
  std::size_t places = 0;
  std::uint32_t per_row = 0;

  kernels::ExpertRowsCuda rows() const {
    return {.begin = groups.begin,
            .counts = groups.counts,
            .active = groups.active,
            .experts = static_cast<std::uint32_t>(groups.n_experts),
            .most = static_cast<std::uint32_t>(std::min(groups.pairs, groups.n_experts)),
            .pairs = static_cast<std::uint32_t>(groups.pairs)};
  }
};

template <typename T>
T* allocate(Arena& arena, std::size_t count) {
  return static_cast<T*>(arena.allocate(count * sizeof(T)));
}

Routed group(CudaDevice& device, Arena& arena, const ExpertsCall& call) {
  const std::size_t pairs = call.experts.size();
  const std::size_t n_experts = call.gate.size();
  const kernels::GroupPairsCudaArgs groups = {.experts = call.experts.data(),
                                              .begin = allocate<std::uint32_t>(arena, n_experts + 1),
                                              .counts = allocate<std::uint32_t>(arena, n_experts),
                                              .place = allocate<std::uint32_t>(arena, pairs),
                                              .active = allocate<std::uint32_t>(arena, n_experts + 1),
                                              .pairs = pairs,
                                              .n_experts = n_experts};
  kernels::group_pairs_cuda(device, groups);
  return {call, groups, kernels::grouped_places(pairs, n_experts),
          static_cast<std::uint32_t>(pairs / call.x.rows())};
}

/// out[place] = x[place] w_eᵀ of every pair's expert; `gated` adds the second stack.
void multiply(CudaDevice& device, const Routed& routed, std::span<const Matrix> stack,
              std::span<const Matrix> gated, const kernels::SplitRows& x, float* out) {
  kernels::TiledProductCudaArgs args{.count = 1, .rows = static_cast<std::uint32_t>(routed.places), .x = x};
  args.w[0] = stack.front().tiled()->view();
  args.out[0] = out;
  args.experts = routed.rows();
  args.experts.first = device.expert_table(stack);
  if (!gated.empty()) {
    args.w[1] = gated.front().tiled()->view();
    args.experts.second = device.expert_table(gated);
    args.gate =
        routed.call.activation == GatedActivation::kGeluTanh ? ProductGate::kGelu : ProductGate::kSilu;
  }
  kernels::tiled_product_cuda(device, args);
}

/// The general way: every expert over all rows that chose it is unknown to the host, so all experts see all
/// rows and each pair takes its own. Only for formats without a tiled form, as tests have them.
void run_plain(Stream& stream, Arena& arena, const Routed& routed);

}  // namespace

void route(Stream& stream, const RouteCall& call) {
  const Tensor& logits = call.logits;
  check_shape(call.experts.size() == logits.rows() * call.k && call.weights.size() == call.experts.size() &&
                  call.k <= kMostChosen,
              "route", logits);
  kernels::route_cuda(stream.cuda(), {.experts = call.experts.data(),
                                      .weights = call.weights.data(),
                                      .logits = floats(logits),
                                      .expert_scale = floats(call.expert_scale),
                                      .rows = logits.rows(),
                                      .n_experts = logits.columns(),
                                      .k = call.k});
}

void experts(Stream& stream, Arena& arena, const ExpertsCall& call) {
  check_shape(call.out.shape == call.x.shape && call.down.front().rows() == call.x.columns() &&
                  call.gate.size() <= kMostExperts,
              "experts", call.out);
  CudaDevice& device = stream.cuda();
  const ArenaScope scope(arena);
  const Routed routed = group(device, arena, call);
  if (call.gate.front().tiled() == nullptr) return run_plain(stream, arena, routed);
  const std::size_t hidden = call.x.columns();
  const std::size_t width = call.gate.front().rows();
  const auto places = static_cast<std::int64_t>(routed.places);
  const Tensor gated = arena.floats({places, static_cast<std::int64_t>(width)});
  const Tensor y = arena.floats({places, static_cast<std::int64_t>(hidden)});
  const std::size_t average = routed.groups.pairs / routed.rows().most;
  const bool turned = kernels::takes_turned_rows(device, call.gate.front().tiled()->view(), average);
  const unsigned parts = call.gate.front().tiled()->view().parts();
  const kernels::SplitRows x =
      kernels::place_split(arena.allocate(kernels::split_bytes(routed.places, hidden, parts)), routed.places,
                           hidden, parts, turned);
  kernels::split_rows_cuda(device,
                           {.to = x,
                            .from = {.x = floats(call.x), .columns = static_cast<std::uint32_t>(hidden)},
                            .rows = routed.groups.pairs,
                            .place = routed.groups.place,
                            .per_row = routed.per_row});
  if (average < kernels::kLargeTileRows) {
    multiply(device, routed, call.gate, call.up, x, floats(gated));
  } else {
    const Tensor ups = arena.floats(gated.shape);
    multiply(device, routed, call.gate, {}, x, floats(gated));
    multiply(device, routed, call.up, {}, x, floats(ups));
    gated_activation(stream, gated, gated, ups, call.activation);
  }
  const kernels::SplitRows inner = kernels::place_split(
      arena.allocate(kernels::split_bytes(routed.places, width, parts)), routed.places, width, parts, turned);
  kernels::split_rows_cuda(device,
                           {.to = inner,
                            .from = {.x = floats(gated), .columns = static_cast<std::uint32_t>(width)},
                            .rows = routed.places});
  multiply(device, routed, call.down, {}, inner, floats(y));
  kernels::combine_experts_cuda(device, {.out = floats(call.out),
                                         .y = floats(y),
                                         .place = routed.groups.place,
                                         .weights = call.weights.data(),
                                         .rows = call.x.rows(),
                                         .columns = hidden,
                                         .k = routed.per_row});
}

namespace {

void run_plain(Stream& stream, Arena& arena, const Routed& routed) {
  const ExpertsCall& call = routed.call;
  CudaDevice& device = stream.cuda();
  const auto rows = static_cast<std::int64_t>(call.x.rows());
  const auto width = static_cast<std::int64_t>(call.gate.front().rows());
  const Tensor gated = arena.floats({rows, width});
  const Tensor y = arena.floats(call.x.shape);
  kernels::scale_cuda(device, floats(call.out), floats(call.x), 0.0F,
                      static_cast<std::size_t>(call.x.element_count()));
  for (std::size_t e = 0; e < call.gate.size(); ++e) {
    gated_linear(stream, gated, call.gate[e], call.up[e], call.x, call.activation);
    const LinearCall last{y, &call.down[e]};
    linear(stream, {&last, 1}, gated);
    kernels::add_chosen_cuda(device, {.out = floats(call.out),
                                      .y = floats(y),
                                      .experts = call.experts.data(),
                                      .weights = call.weights.data(),
                                      .rows = call.x.rows(),
                                      .columns = call.x.columns(),
                                      .k = routed.per_row,
                                      .expert = static_cast<std::int32_t>(e)});
  }
}

}  // namespace
}  // namespace lanner::device::cuda
