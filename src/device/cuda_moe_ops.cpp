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
using kernels::TiledProductCudaArgs;
using kernels::TiledWeight;

constexpr std::size_t kMostExperts = 1024;
// Up to here rows go to their experts one by one: few experts have two of them.
constexpr std::size_t kJoinedRows = 8;
// Rows of an expert, on average, from which large tiles by warpgroups pay.
constexpr std::size_t kWarpgroupAverage = 12;

template <typename T>
T* allocate(Arena& arena, std::size_t count) {
  return static_cast<T*>(arena.allocate(count * sizeof(T)));
}

/// One call's rows on their way through the experts that were chosen for them.
class ExpertRows {
 public:
  /// With `routing` the call's experts and weights are yet to be chosen.
  ExpertRows(Stream& stream, Arena& arena, const ExpertsCall& call, const ProductInput& in,
             const Tensor& residual, const kernels::RouteCudaArgs* routing)
      : stream_(stream),
        device_(stream.cuda()),
        arena_(arena),
        call_(call),
        in_(in),
        residual_(residual),
        routing_(routing) {}

  void run() const {
    if (call_.gate.front().tiled() == nullptr) return run_plain();
    if (rows() <= kJoinedRows && per_row() <= kernels::kMostChosen) return run_joined();
    run_grouped();
  }

 private:
  std::size_t rows() const { return in_.x.rows(); }
  std::size_t pairs() const { return call_.experts.size(); }
  std::uint32_t per_row() const { return static_cast<std::uint32_t>(pairs() / rows()); }
  std::size_t hidden() const { return in_.x.columns(); }
  std::size_t width() const { return call_.gate.front().rows(); }
  const TiledWeight& shape() const { return call_.gate.front().tiled()->view(); }
  ProductGate gate() const {
    return call_.activation == GatedActivation::kGeluTanh ? ProductGate::kGelu : ProductGate::kSilu;
  }

  Tensor floats_of(std::size_t count, std::size_t columns) const {
    return arena_.floats({static_cast<std::int64_t>(count), static_cast<std::int64_t>(columns)});
  }

  kernels::SplitRows room(std::size_t count, std::size_t columns, bool turned) const {
    const unsigned parts = shape().parts();
    return kernels::place_split(arena_.allocate(kernels::split_bytes(count, columns, parts)), count, columns,
                                parts, turned);
  }

  kernels::SplitRowsCudaArgs split_of(const kernels::SplitRows& to, const ProductInput& in) const {
    return {.to = to,
            .from = {.x = floats(in.x),
                     .gain = floats(in.gain),
                     .eps = in.eps,
                     .norm = in.norm,
                     .columns = static_cast<std::uint32_t>(in.x.columns())},
            .rows = in.x.rows()};
  }

  void choose() const {
    if (routing_ != nullptr) kernels::route_cuda(device_, *routing_);
  }

  /// choose(), and the rows where they are, normed, if they are to be, and split.
  void choose_and_split(const kernels::SplitRows& to) const {
    if (routing_ != nullptr)
      kernels::route_and_split_cuda(device_, *routing_, split_of(to, in_));
    else
      kernels::split_rows_cuda(device_, split_of(to, in_));
  }

  /// out = x w_eᵀ, or with a second stack act(x w_eᵀ) * (x v_eᵀ).
  TiledProductCudaArgs product(std::span<const Matrix> stack, std::span<const Matrix> second,
                               const kernels::SplitRows& x, const kernels::ExpertRowsCuda& experts,
                               float* out) const {
    TiledProductCudaArgs args{.count = 1, .x = x, .experts = experts};
    args.w[0] = stack.front().tiled()->view();
    args.out[0] = out;
    args.experts.first = device_.expert_table(stack);
    if (!second.empty()) {
      args.w[1] = second.front().tiled()->view();
      args.experts.second = device_.expert_table(second);
      args.gate = gate();
    }
    return args;
  }

  void run_joined() const {
    // Few rows choose where their experts are used.
    const bool choosing = routing_ != nullptr && rows() <= kernels::kChoosingRows &&
                          routing_->choice.n_experts <= kernels::kMostChoosable;
    const kernels::ExpertLogitsCuda choice = choosing ? routing_->choice : kernels::ExpertLogitsCuda{};
    kernels::SplitRows x = {};
    if (!choosing) {
      x = room(rows(), hidden(), false);
      choose_and_split(x);
    }
    const Tensor gated = floats_of(pairs(), width());
    const kernels::ExpertRowsCuda chosen = {.chosen = call_.experts.data(),
                                            .per_row = per_row(),
                                            .most = static_cast<std::uint32_t>(pairs()),
                                            .choice = choice};
    TiledProductCudaArgs args = product(call_.gate, call_.up, x, chosen, floats(gated));
    args.input = split_of(x, in_).from;
    kernels::expert_product_cuda(device_, args, false);
    kernels::join_experts_cuda(device_, {.out = floats(call_.out),
                                         .residual = floats(residual_),
                                         .gated = floats(gated),
                                         .down = device_.expert_table(call_.down),
                                         .shape = call_.down.front().tiled()->view(),
                                         .experts = call_.experts.data(),
                                         .weights = call_.weights.data(),
                                         .choice = choice,
                                         .rows = static_cast<std::uint32_t>(rows()),
                                         .per_row = per_row()});
  }

  void run_grouped() const {
    const std::size_t n_experts = call_.gate.size();
    const bool warpgroups = device_.warpgroups() && shape().half;
    const std::size_t average = pairs() / std::min(pairs(), n_experts);
    const bool large = average >= (warpgroups ? kWarpgroupAverage : kernels::kLargeTileRows);
    const bool turned = large && warpgroups;
    const std::uint32_t tile_rows = turned  ? kernels::kWarpgroupTileRows
                                    : large ? kernels::kLargeExpertTileRows
                                            : kernels::kExpertTileRows;
    const std::size_t places = kernels::grouped_places(pairs(), n_experts);
    const std::size_t tiles = kernels::grouped_tiles(pairs(), n_experts, tile_rows);
    const kernels::GroupPairsCudaArgs groups = {.experts = call_.experts.data(),
                                                .place = allocate<std::uint32_t>(arena_, pairs()),
                                                .source = allocate<std::uint32_t>(arena_, places),
                                                .tiles = allocate<kernels::ExpertTile>(arena_, tiles),
                                                .used = allocate<std::uint32_t>(arena_, 1),
                                                .pairs = pairs(),
                                                .per_row = per_row(),
                                                .tile_rows = tile_rows};
    const kernels::SplitRows x = room(large ? places : rows(), hidden(), turned);
    if (large)
      choose();
    else
      choose_and_split(x);
    kernels::group_pairs_cuda(device_, groups);
    if (large) {
      kernels::SplitRowsCudaArgs to_places = split_of(x, in_);
      to_places.place = groups.place;
      to_places.per_row = per_row();
      kernels::split_rows_cuda(device_, to_places);
    }
    const kernels::ExpertRowsCuda inner = {
        .tiles = groups.tiles, .used = groups.used, .most = static_cast<std::uint32_t>(tiles)};
    // Small tiles take their rows from where they are.
    kernels::ExpertRowsCuda outer = inner;
    if (!large) outer.source = groups.source;
    const Tensor gated = floats_of(places, width());
    if (!large || turned) {
      kernels::expert_product_cuda(device_, product(call_.gate, call_.up, x, outer, floats(gated)), large);
    } else {
      const Tensor ups = floats_of(places, width());
      kernels::expert_product_cuda(device_, product(call_.gate, {}, x, outer, floats(gated)), large);
      kernels::expert_product_cuda(device_, product(call_.up, {}, x, outer, floats(ups)), large);
      gated_activation(stream_, gated, gated, ups, call_.activation);
    }
    const kernels::SplitRows gated_rows = room(places, width(), turned);
    kernels::split_rows_cuda(device_, split_of(gated_rows, {.x = gated}));
    const Tensor y = floats_of(places, hidden());
    kernels::expert_product_cuda(device_, product(call_.down, {}, gated_rows, inner, floats(y)), large);
    kernels::combine_experts_cuda(device_, {.out = floats(call_.out),
                                            .residual = floats(residual_),
                                            .y = floats(y),
                                            .place = groups.place,
                                            .weights = call_.weights.data(),
                                            .rows = rows(),
                                            .columns = hidden(),
                                            .k = per_row()});
  }

  /// Which rows chose an expert is unknown to the host, so all experts see all rows. Only for formats without
  /// a tiled form, as tests have them.
  void run_plain() const {
    choose();
    Tensor x = in_.x;
    if (in_.norm) {
      x = arena_.floats(in_.x.shape);
      rms_norm(stream_, x, in_.x, in_.gain, in_.eps);
    }
    const Tensor gated = floats_of(rows(), width());
    const Tensor y = arena_.floats(x.shape);
    const Tensor sum = arena_.floats(x.shape);
    kernels::scale_cuda(device_, floats(sum), floats(x), 0.0F, static_cast<std::size_t>(x.element_count()));
    for (std::size_t e = 0; e < call_.gate.size(); ++e) {
      gated_linear(stream_, gated, call_.gate[e], call_.up[e], {.x = x}, call_.activation);
      const LinearCall last{y, &call_.down[e]};
      linear(stream_, {&last, 1}, {.x = gated});
      kernels::add_chosen_cuda(device_, {.out = floats(sum),
                                         .y = floats(y),
                                         .experts = call_.experts.data(),
                                         .weights = call_.weights.data(),
                                         .rows = rows(),
                                         .columns = hidden(),
                                         .k = per_row(),
                                         .expert = static_cast<std::int32_t>(e)});
    }
    if (residual_.data != nullptr)
      add(stream_, call_.out, residual_, sum);
    else
      copy(stream_, call_.out, sum);
  }

  Stream& stream_;
  CudaDevice& device_;
  Arena& arena_;
  const ExpertsCall& call_;
  const ProductInput& in_;
  const Tensor& residual_;
  const kernels::RouteCudaArgs* routing_;
};

kernels::ExpertLogitsCuda choice_of(const Tensor& logits, const Tensor& expert_scale,
                                    const Tensor& shared_gate, std::size_t k) {
  return {.logits = floats(logits),
          .expert_scale = floats(expert_scale),
          .shared_gate = floats(shared_gate),
          .n_experts = static_cast<std::uint32_t>(logits.columns()),
          .k = static_cast<std::uint32_t>(k)};
}

void check_experts(const ExpertsCall& call) {
  check_shape(call.out.shape == call.x.shape && call.down.front().rows() == call.x.columns() &&
                  call.gate.size() <= kMostExperts,
              "experts", call.out);
}

}  // namespace

void route(Stream& stream, const RouteCall& call) {
  const Tensor& logits = call.logits;
  check_shape(call.experts.size() == logits.rows() * call.k && call.weights.size() == call.experts.size() &&
                  call.k < kernels::kMostChosen,
              "route", logits);
  kernels::route_cuda(stream.cuda(), {.experts = call.experts.data(),
                                      .weights = call.weights.data(),
                                      .choice = choice_of(logits, call.expert_scale, {}, call.k),
                                      .rows = logits.rows()});
}

void experts(Stream& stream, Arena& arena, const ExpertsCall& call) {
  check_experts(call);
  const ArenaScope scope(arena);
  ExpertRows(stream, arena, call, {.x = call.x}, {}, nullptr).run();
}

void routed_experts(Stream& stream, Arena& arena, const RoutedExpertsCall& call) {
  const ArenaScope scope(arena);
  const Tensor& logits = call.logits;
  kernels::RouteCudaArgs routing = {.choice = choice_of(logits, call.expert_scale, call.shared_gate, call.k),
                                    .rows = logits.rows()};
  check_shape(call.k < kernels::kMostChosen &&
                  call.gate.size() == logits.columns() + (routing.choice.per_row() - call.k) &&
                  logits.rows() == call.in.x.rows(),
              "routed experts", logits);
  check_shape(!call.in.sum, "routed experts: a sum as input", call.in.x);
  const std::size_t pairs = routing.rows * routing.choice.per_row();
  routing.experts = allocate<std::int32_t>(arena, pairs);
  routing.weights = allocate<float>(arena, pairs);
  const ExpertsCall chosen = {.out = call.out,
                              .x = call.in.x,
                              .experts = {routing.experts, pairs},
                              .weights = {routing.weights, pairs},
                              .gate = call.gate,
                              .up = call.up,
                              .down = call.down,
                              .activation = call.activation};
  check_experts(chosen);
  ExpertRows(stream, arena, chosen, call.in, call.residual, &routing).run();
}

}  // namespace lanner::device::cuda
