// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "device/cuda_device.h"
#include "device/cuda_op_functions.h"
#include "device/shape_check.h"
#include "device/tiled_matrix.h"
#include "kernels/activation/elementwise.cuda.h"

namespace lanner::device::cuda {
namespace {

using kernels::ProductGate;
using kernels::TiledProductCudaArgs;
using kernels::TiledWeight;

bool agree(const TiledWeight& a, const TiledWeight& b) { return a.code == b.code && a.group == b.group; }

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

void check_ids(const Matrix& table, std::span<const TokenId> ids) {
  for (std::size_t t = 0; t < ids.size(); ++t)
    if (ids[t] < 0 || static_cast<std::size_t>(ids[t]) >= table.rows())
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("token id {} at row {} is outside the vocabulary of {}", ids[t], t, table.rows()));
}

ProductGate gate_of(GatedActivation kind) {
  return kind == GatedActivation::kGeluTanh ? ProductGate::kGelu : ProductGate::kSilu;
}

/// Products of split rows with every tiled weight of the calls, one launch per kind of code.
void multiply_tiled(CudaDevice& device, std::span<const LinearCall> calls, const kernels::SplitRows& x,
                    std::size_t rows) {
  std::array<bool, kMaxLinearCalls> done{};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (done[i] || calls[i].w->tiled() == nullptr) continue;
    TiledProductCudaArgs args{.rows = static_cast<std::uint32_t>(rows), .x = x};
    const TiledWeight& kind = calls[i].w->tiled()->view();
    for (std::size_t j = i; j < calls.size(); ++j) {
      if (done[j] || calls[j].w->tiled() == nullptr || !agree(kind, calls[j].w->tiled()->view())) continue;
      args.w[args.count] = calls[j].w->tiled()->view();
      args.out[args.count++] = floats(calls[j].out);
      done[j] = true;
    }
    kernels::tiled_product_cuda(device, args);
  }
}

kernels::SplitRows split(CudaDevice& device, std::byte* memory, const Tensor& x) {
  const kernels::SplitRows to = kernels::place_split(memory, x.rows(), x.columns());
  kernels::split_rows_cuda(device, {.to = to, .x = floats(x), .rows = x.rows(), .columns = x.columns()});
  return to;
}

}  // namespace

void embed(Stream& stream, const Tensor& out, const Matrix& table, std::span<const TokenId> ids,
           float scale) {
  check_shape(out.rows() == ids.size() && out.columns() == table.columns(), "embed", out);
  check_ids(table, ids);
  CudaDevice& device = stream.cuda();
  const TokenId* staged = device.stage(ids);
  if (const TiledMatrix* tiled = table.tiled())
    kernels::embed_tiled_cuda(device, floats(out), staged, ids.size(), tiled->view(), scale);
  else
    kernels::embed_plain_cuda(device, floats(out), staged, ids.size(), table.view(), scale);
}

std::shared_ptr<const TiledMatrix> tile(const Ops& ops, const kernels::WeightView& weight) {
  if (!kernels::can_tile(weight.spec) || weight.columns % 8 != 0) return nullptr;
  auto tiled = std::make_shared<const TiledMatrix>(weight, *ops.memory);
  kernels::tile_weight_cuda(*ops.cuda, tiled->view(), weight);
  return tiled;
}

void linear(Stream& stream, std::span<const LinearCall> calls, const Tensor& x) {
  if (calls.size() > kMaxLinearCalls)
    throw Error(ErrorKind::kInternal, "linear: too many products of one input");
  CudaDevice& device = stream.cuda();
  bool any_tiled = false;
  for (const LinearCall& call : calls) {
    check_shape(x.columns() == call.w->columns(), "linear", x);
    check_shape(call.out.columns() == call.w->rows() && call.out.rows() == x.rows(), "linear", call.out);
    if (call.w->tiled() != nullptr)
      any_tiled = true;
    else
      kernels::linear_plain_cuda(device, floats(call.out), floats(x), x.rows(), call.w->view());
  }
  if (!any_tiled) return;
  std::byte* memory = device.scratch(kernels::split_bytes(x.rows(), x.columns()));
  multiply_tiled(device, calls, split(device, memory, x), x.rows());
}

void gated_linear(Stream& stream, const Tensor& out, const Matrix& gate, const Matrix& up, const Tensor& x,
                  GatedActivation kind) {
  check_shape(x.columns() == gate.columns() && x.columns() == up.columns(), "gated_linear", x);
  check_shape(out.columns() == gate.rows() && gate.rows() == up.rows() && out.rows() == x.rows(),
              "gated_linear", out);
  CudaDevice& device = stream.cuda();
  const bool tiled = gate.tiled() != nullptr && up.tiled() != nullptr;
  const std::size_t split_bytes = tiled ? aligned(kernels::split_bytes(x.rows(), x.columns())) : 0;
  std::byte* memory = device.scratch(split_bytes + out.size_bytes());
  if (tiled && agree(gate.tiled()->view(), up.tiled()->view()) && x.rows() < kernels::kLargeTileRows) {
    TiledProductCudaArgs args{.count = 2,
                              .gate = gate_of(kind),
                              .rows = static_cast<std::uint32_t>(x.rows()),
                              .x = split(device, memory, x)};
    args.w[0] = gate.tiled()->view();
    args.w[1] = up.tiled()->view();
    args.out[0] = floats(out);
    return kernels::tiled_product_cuda(device, args);
  }
  Tensor ups = out;
  ups.data = memory + split_bytes;
  const std::array<LinearCall, 2> calls = {{{out, &gate}, {ups, &up}}};
  if (tiled) {
    multiply_tiled(device, calls, split(device, memory, x), x.rows());
  } else {
    for (const LinearCall& call : calls) {
      if (call.w->tiled() != nullptr)
        throw Error(ErrorKind::kInternal, "gated_linear: gate and up differ in form");
      kernels::linear_plain_cuda(device, floats(call.out), floats(x), x.rows(), call.w->view());
    }
  }
  gated_activation(stream, out, out, ups, kind);
}

}  // namespace lanner::device::cuda
