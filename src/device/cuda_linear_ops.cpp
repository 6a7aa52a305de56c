// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>

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

// Rows from which gates on their way into the next product save time: prompts of Qwen 4B on an H200 were 2 to
// 4 % slower with 512 rows, 2 % faster with 4096.
constexpr std::size_t kGatedInputRows = 1024;

bool agree(const TiledWeight& a, const TiledWeight& b) {
  return a.code == b.code && a.group == b.group && a.half == b.half;
}

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

kernels::RowInputCuda row_input(const ProductInput& in) {
  kernels::RowInputCuda row = {.x = floats(in.x),
                               .gain = floats(in.gain),
                               .eps = in.eps,
                               .norm = in.norm,
                               .columns = static_cast<std::uint32_t>(in.x.columns())};
  if (!in.sum) return row;
  row.x = floats(in.sum->x);
  row.sum = {.y = floats(in.sum->y),
             .gain = floats(in.sum->gain),
             .out = floats(in.x),
             .eps = in.sum->eps,
             .factor = in.sum->factor};
  return row;
}

void check_sum(const ProductInput& in) {
  if (!in.sum) return;
  check_shape(in.sum->x.shape == in.x.shape && in.sum->y.shape == in.x.shape &&
                  in.sum->gain.element_count() == in.x.shape.back() && in.sum->x.data != in.x.data &&
                  in.sum->y.data != in.x.data,
              "sum of an input", in.x);
}

/// Beside products that form their input's sum, other blocks of the same launch read and write its parts.
void check_beside_sum(const ProductInput& in, const Tensor& out, const Tensor& residual, const Tensor& up) {
  if (!in.sum) return;
  check_shape(out.data != in.x.data && out.data != in.sum->x.data && out.data != in.sum->y.data &&
                  residual.data != in.x.data && up.data != in.x.data,
              "product beside its input's sum", out);
}

/// The input once its sum is formed, by itself unless products do it on their way.
ProductInput without_sum(Stream& stream, ProductInput in, bool on_the_way) {
  check_sum(in);
  if (!in.sum ||
      (on_the_way && in.x.rows() <= kernels::kMostSumRows && in.x.columns() <= kernels::kMostSumColumns))
    return in;
  add_norm(stream, in.x, in.sum->x, in.sum->y, in.sum->gain, in.sum->eps, in.sum->factor);
  in.sum.reset();
  return in;
}

/// The input of one operation's products, split for those that do not do it by themselves, once. Whoever
/// reads it first forms its sum.
class SplitInput {
 public:
  SplitInput(CudaDevice& device, std::byte* memory, ProductInput in, unsigned parts)
      : device_(device), memory_(memory), in_(std::move(in)), parts_(parts) {}

  static std::size_t size_bytes(const ProductInput& in, unsigned parts) {
    return aligned(kernels::split_bytes(in.x.rows(), in.x.columns(), parts));
  }

  /// Fills in rows and input.
  void give(TiledProductCudaArgs& args) {
    args.rows = static_cast<std::uint32_t>(in_.x.rows());
    if (kernels::forms_rows(args)) {
      args.input = row_input(in_);
      in_.sum.reset();
      return;
    }
    if (split_.high == nullptr) {
      const bool turned = kernels::takes_turned_rows(device_, args);
      split_ = kernels::place_split(memory_, in_.x.rows(), in_.x.columns(), parts_, turned);
      kernels::split_rows_cuda(device_, {.to = split_, .from = row_input(in_), .rows = in_.x.rows()});
      in_.sum.reset();
    }
    args.x = split_;
  }

 private:
  CudaDevice& device_;
  std::byte* memory_;
  ProductInput in_;
  unsigned parts_;
  kernels::SplitRows split_ = {};
};

void gate_product(Stream& stream, const LinearCall& product) {
  gated_activation(stream, product.out, product.out, product.up, product.activation);
}

/// act(in wᵀ) * up with a tiled weight.
void multiply_gated(Stream& stream, const LinearCall& product, SplitInput& input) {
  TiledProductCudaArgs args{.count = 1};
  args.w[0] = product.w->tiled()->view();
  args.out[0] = floats(product.out);
  input.give(args);
  const bool takes_up = kernels::takes_up(args);
  if (takes_up) {
    args.gate = gate_of(product.activation);
    args.up = floats(product.up);
  }
  kernels::tiled_product_cuda(stream.cuda(), args);
  if (!takes_up) gate_product(stream, product);
}

/// Products with every tiled weight, one launch per kind of code; gated ones by themselves.
void multiply_tiled(Stream& stream, std::span<const LinearCall> products, SplitInput& input) {
  std::array<bool, kMaxLinearCalls> done{};
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (done[i] || products[i].w->tiled() == nullptr) continue;
    if (products[i].up.data != nullptr) {
      multiply_gated(stream, products[i], input);
      continue;
    }
    TiledProductCudaArgs args{};
    const TiledWeight& kind = products[i].w->tiled()->view();
    for (std::size_t j = i; j < products.size(); ++j) {
      const LinearCall& product = products[j];
      if (done[j] || product.up.data != nullptr || product.w->tiled() == nullptr ||
          !agree(kind, product.w->tiled()->view()))
        continue;
      args.w[args.count] = product.w->tiled()->view();
      args.residual[args.count] = floats(product.residual);
      args.out[args.count++] = floats(product.out);
      done[j] = true;
    }
    input.give(args);
    kernels::tiled_product_cuda(stream.cuda(), args);
  }
}

/// The parts of every input that a tiled weight's products take; 0 for other weights.
unsigned parts_of(const Matrix& w) { return w.tiled() == nullptr ? 0U : w.tiled()->view().parts(); }

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

std::shared_ptr<const TiledMatrix> tile(const Ops& ops, const kernels::WeightView& weight, Compute compute) {
  if (!kernels::can_tile(weight.spec) || weight.columns % 8 != 0) return nullptr;
  auto tiled = std::make_shared<const TiledMatrix>(weight, compute == Compute::kHalf, *ops.memory);
  if (ops.cuda == nullptr) return tiled;  // of plan_ops(): the room is all that counts
  kernels::tile_weight_cuda(*ops.cuda, tiled->view(), weight);
  ops.cuda->forget_expert_tables();
  // Products ask for weights before earlier kernels have ended.
  ops.cuda->synchronize();
  return tiled;
}

namespace {

void check_product(const LinearCall& product, const ProductInput& in) {
  check_shape(in.x.columns() == product.w->columns(), "linear", in.x);
  check_shape(product.out.columns() == product.w->rows() && product.out.rows() == in.x.rows(), "linear",
              product.out);
  check_shape(
      product.up.data == nullptr || (product.up.shape == product.out.shape &&
                                     product.up.data != product.out.data && product.residual.data == nullptr),
      "linear", product.up);
  check_beside_sum(in, product.out, product.residual, product.up);
}

/// Products with weights that are not tiled. memory: the normed input, then the largest of their outputs.
void multiply_plain(Stream& stream, std::span<const LinearCall> products, const ProductInput& in,
                    std::byte* memory) {
  Tensor x = in.x;
  if (in.norm) {
    x.data = memory;
    rms_norm(stream, x, in.x, in.gain, in.eps);
  }
  for (const LinearCall& product : products) {
    if (product.w->tiled() != nullptr) continue;
    Tensor sum = product.out;
    if (product.residual.data != nullptr) sum.data = memory + aligned(in.x.size_bytes());
    kernels::linear_plain_cuda(stream.cuda(), floats(sum), floats(x), x.rows(), product.w->view());
    if (product.residual.data != nullptr) add(stream, product.out, product.residual, sum);
    if (product.up.data != nullptr) gate_product(stream, product);
  }
}

}  // namespace

void linear(Stream& stream, std::span<const LinearCall> products, const ProductInput& in) {
  if (products.size() > kMaxLinearCalls)
    throw Error(ErrorKind::kInternal, "linear: too many products of one input");
  unsigned parts = 0;
  std::size_t plain_bytes = 0;
  for (const LinearCall& product : products) {
    check_product(product, in);
    parts = std::max(parts, parts_of(*product.w));
    if (product.w->tiled() == nullptr)
      plain_bytes = std::max(plain_bytes, aligned(in.x.size_bytes()) + product.out.size_bytes());
  }
  const ProductInput input = without_sum(stream, in, plain_bytes == 0);
  const std::size_t split_bytes = parts > 0 ? SplitInput::size_bytes(input, parts) : 0;
  std::byte* memory = stream.cuda().scratch(split_bytes + plain_bytes);
  if (plain_bytes > 0) multiply_plain(stream, products, input, memory + split_bytes);
  if (parts == 0) return;
  SplitInput split(stream.cuda(), memory, input, parts);
  multiply_tiled(stream, products, split);
}

void gated_linear(Stream& stream, const Tensor& out, const Matrix& gate, const Matrix& up,
                  const ProductInput& in, GatedActivation kind) {
  const Tensor& x = in.x;
  check_shape(x.columns() == gate.columns() && x.columns() == up.columns(), "gated_linear", x);
  check_shape(out.columns() == gate.rows() && gate.rows() == up.rows() && out.rows() == x.rows(),
              "gated_linear", out);
  check_beside_sum(in, out, {}, {});
  CudaDevice& device = stream.cuda();
  const bool tiled = gate.tiled() != nullptr && up.tiled() != nullptr;
  const ProductInput rows = without_sum(stream, in, tiled);
  if (gate.tiled() != nullptr || up.tiled() != nullptr)
    check_shape(tiled, "gated_linear: gate and up differ in form", out);
  const std::size_t input_bytes =
      tiled ? SplitInput::size_bytes(rows, parts_of(gate)) : aligned(x.size_bytes());
  std::byte* memory = device.scratch(input_bytes + out.size_bytes());
  SplitInput input(device, memory, rows, parts_of(gate));
  // Prompts: two products and the gate behind them are faster than one whose blocks end with gates.
  if (tiled && agree(gate.tiled()->view(), up.tiled()->view()) && x.rows() < kernels::kLargeTileRows) {
    TiledProductCudaArgs args{.count = 2, .gate = gate_of(kind)};
    args.w[0] = gate.tiled()->view();
    args.w[1] = up.tiled()->view();
    args.out[0] = floats(out);
    input.give(args);
    return kernels::tiled_product_cuda(device, args);
  }
  Tensor ups = out;
  ups.data = memory + input_bytes;
  const std::array<LinearCall, 2> products = {{{out, &gate}, {ups, &up}}};
  if (tiled) {
    multiply_tiled(stream, products, input);
  } else {
    Tensor normed = x;
    if (in.norm) {
      normed.data = memory;
      rms_norm(stream, normed, x, in.gain, in.eps);
    }
    for (const LinearCall& product : products)
      kernels::linear_plain_cuda(device, floats(product.out), floats(normed), x.rows(), product.w->view());
  }
  gated_activation(stream, out, out, ups, kind);
}

bool can_feed_forward(std::size_t rows, const Matrix& gate, const Matrix& up, const Matrix& down) {
  return rows >= kGatedInputRows && down.tiled() != nullptr && parts_of(gate) != 0 &&
         parts_of(gate) == parts_of(up);
}

void feed_forward(Stream& stream, const FeedForwardCall& call) {
  const std::size_t rows = call.in.x.rows();
  const std::size_t inner = call.gate->rows();
  check_shape(call.in.x.columns() == call.gate->columns() && call.in.x.columns() == call.up->columns(),
              "feed_forward", call.in.x);
  check_shape(call.gated.rows() == rows && call.gated.columns() == inner && call.up->rows() == inner &&
                  call.down->columns() == inner,
              "feed_forward", call.gated);
  check_shape(call.out.rows() == rows && call.out.columns() == call.down->rows(), "feed_forward", call.out);
  CudaDevice& device = stream.cuda();
  const unsigned parts = parts_of(*call.down);
  const std::size_t split_bytes = std::max(SplitInput::size_bytes(call.in, parts_of(*call.gate)),
                                           aligned(kernels::split_bytes(rows, inner, parts)));
  std::byte* memory = device.scratch(split_bytes + call.gated.size_bytes());
  Tensor ups = call.gated;
  ups.data = memory + split_bytes;
  SplitInput input(device, memory, without_sum(stream, call.in, true), parts_of(*call.gate));
  const std::array<LinearCall, 2> products = {{{call.gated, call.gate}, {ups, call.up}}};
  multiply_tiled(stream, products, input);
  TiledProductCudaArgs args{.count = 1, .rows = static_cast<std::uint32_t>(rows)};
  args.w[0] = call.down->tiled()->view();
  args.out[0] = floats(call.out);
  args.residual[0] = floats(call.residual);
  args.x = kernels::place_split(memory, rows, inner, parts, kernels::takes_turned_rows(device, args));
  kernels::split_rows_cuda(device, {.to = args.x,
                                    .from = {.x = floats(call.gated),
                                             .columns = static_cast<std::uint32_t>(inner),
                                             .up = floats(ups),
                                             .gate = gate_of(call.activation)},
                                    .rows = rows});
  kernels::tiled_product_cuda(device, args);
}

}  // namespace lanner::device::cuda
