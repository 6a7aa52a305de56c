// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>

#include "device/cuda_device.h"
#include "device/cuda_error.h"
#include "device/cuda_op_functions.h"
#include "device/shape_check.h"
#include "kernels/activation/elementwise.cuda.h"
#include "kernels/norm/rms_norm.cuda.h"
#include "kernels/rope/rope.cuda.h"

namespace lanner::device::cuda {
namespace {

std::size_t count_of(const Tensor& x) { return static_cast<std::size_t>(x.element_count()); }

bool same_shape(const Tensor& a, const Tensor& b) { return a.shape == b.shape; }

// Of the delta net's query and key norm; see cpu_token_ops.cpp.
constexpr float kL2Eps = 1e-6F;

}  // namespace

void rms_norm(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& w, float eps) {
  check_shape(same_shape(out, x), "rms_norm", out);
  check_shape(w.data == nullptr || w.element_count() == x.shape.back(), "rms_norm", w);
  kernels::rms_norm_cuda(stream.cuda(), floats(out), floats(x), floats(w), x.rows(), x.columns(), eps);
}

void add_norm(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& y, const Tensor& gain,
              float eps, float factor) {
  check_shape(same_shape(out, x) && same_shape(x, y) && gain.element_count() == x.shape.back(), "add_norm",
              y);
  kernels::add_norm_cuda(stream.cuda(), {.out = floats(out),
                                         .x = floats(x),
                                         .y = floats(y),
                                         .gain = floats(gain),
                                         .rows = x.rows(),
                                         .dim = x.columns(),
                                         .eps = eps,
                                         .factor = factor});
}

void add_norms(Stream& stream, const Tensor& out, const NormedPart& x, const NormedPart& y) {
  const auto columns = static_cast<std::int64_t>(out.columns());
  check_shape(same_shape(out, x.x) && same_shape(out, y.x) && x.gain.element_count() == columns &&
                  y.gain.element_count() == columns,
              "add_norms", out);
  kernels::add_norms_cuda(stream.cuda(), {.out = floats(out),
                                          .x = floats(x.x),
                                          .y = floats(y.x),
                                          .x_gain = floats(x.gain),
                                          .y_gain = floats(y.gain),
                                          .rows = out.rows(),
                                          .dim = out.columns(),
                                          .x_eps = x.eps,
                                          .y_eps = y.eps});
}

void l2_norm(Stream& stream, const Tensor& x, std::size_t begin, std::size_t count, std::size_t dim,
             float scale) {
  check_shape(begin + count <= x.columns() && count % dim == 0, "l2_norm", x);
  kernels::l2_norm_cuda(stream.cuda(), {.x = floats(x),
                                        .rows = x.rows(),
                                        .stride = x.columns(),
                                        .begin = begin,
                                        .count = count,
                                        .dim = dim,
                                        .eps = kL2Eps,
                                        .scale = scale});
}

void gated_rms_norm(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& z, const Tensor& w,
                    float eps) {
  check_shape(same_shape(out, x) && z.element_count() == x.element_count(), "gated_rms_norm", z);
  check_shape(w.element_count() == x.shape.back(), "gated_rms_norm", w);
  kernels::gated_rms_norm_cuda(stream.cuda(), {.out = floats(out),
                                               .x = floats(x),
                                               .z = floats(z),
                                               .w = floats(w),
                                               .rows = x.rows(),
                                               .dim = x.columns(),
                                               .eps = eps});
}

void rope_tables(Stream& stream, const Tensor& cos, const Tensor& sin, const RopeAngles& angles) {
  const std::size_t frequencies = angles.inverse_frequencies.size();
  check_shape(same_shape(cos, sin) && cos.rows() == angles.positions.size() && cos.columns() == frequencies &&
                  angles.axes.size() == frequencies,
              "rope_tables", cos);
  CudaDevice& device = stream.cuda();
  kernels::rope_tables_cuda(
      device, {.cos = floats(cos),
               .sin = floats(sin),
               .frequencies = device.stage(angles.inverse_frequencies),
               .axes = device.stage(angles.axes),
               .positions = reinterpret_cast<const std::int32_t*>(device.stage(angles.positions)),
               .rows = cos.rows(),
               .count = frequencies,
               .amplitude = angles.amplitude});
}

void add(Stream& stream, const Tensor& out, const Tensor& a, const Tensor& b) {
  check_shape(same_shape(out, a) && same_shape(a, b), "add", b);
  kernels::add_cuda(stream.cuda(), floats(out), floats(a), floats(b), count_of(a));
}

void scale(Stream& stream, const Tensor& out, const Tensor& x, float factor) {
  check_shape(same_shape(out, x), "scale", x);
  kernels::scale_cuda(stream.cuda(), floats(out), floats(x), factor, count_of(x));
}

void gated_activation(Stream& stream, const Tensor& out, const Tensor& gate, const Tensor& up,
                      GatedActivation kind) {
  check_shape(same_shape(out, gate) && same_shape(gate, up), "gated_activation", up);
  auto* kernel = kind == GatedActivation::kGeluTanh ? kernels::gelu_mul_cuda : kernels::silu_mul_cuda;
  kernel(stream.cuda(), floats(out), floats(gate), floats(up), count_of(gate));
}

void gate_rows(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& gate) {
  check_shape(same_shape(out, x) && count_of(gate) == x.rows(), "gate_rows", gate);
  kernels::gate_rows_cuda(stream.cuda(), floats(out), floats(x), floats(gate), x.rows(), x.columns());
}

void softcap(Stream& stream, const Tensor& out, const Tensor& x, float cap) {
  check_shape(same_shape(out, x), "softcap", x);
  kernels::softcap_cuda(stream.cuda(), floats(out), floats(x), cap, count_of(x));
}

void copy(Stream& stream, const Tensor& out, const Tensor& x) {
  check_shape(out.element_count() == x.element_count(), "copy", x);
  kernels::copy_cuda(stream.cuda(), floats(out), floats(x), count_of(x));
}

void take_rows(Stream& stream, const Tensor& out, const Tensor& x, std::span<const std::size_t> rows) {
  check_shape(out.rows() == rows.size() && out.columns() == x.columns(), "take_rows", out);
  const std::vector<std::uint32_t> source(rows.begin(), rows.end());
  kernels::take_rows_cuda(stream.cuda(), floats(out), floats(x), stream.cuda().stage(std::span(source)),
                          rows.size(), x.columns());
}

void swap_axes(Stream& stream, const Tensor& out, const Tensor& x) {
  check_shape(x.shape.rank() == 3 && out.shape == Shape{x.shape[1], x.shape[0], x.shape[2]}, "swap_axes", x);
  kernels::swap_axes_cuda(
      stream.cuda(), floats(out), floats(x),
      {static_cast<std::size_t>(x.shape[0]), static_cast<std::size_t>(x.shape[1]), x.columns()});
}

std::span<float> host_floats(Stream& stream, const Tensor& x) {
  CudaDevice& device = stream.cuda();
  std::byte* to = device.host_buffer(x.size_bytes());
  device.flush();
  check_cuda(cudaMemcpyAsync(to, x.data, x.size_bytes(), cudaMemcpyDeviceToHost, device.stream()),
             "downloading");
  device.synchronize();
  return {reinterpret_cast<float*>(to), count_of(x)};
}

void argmax(Stream& stream, std::span<TokenId> out, const Tensor& x) {
  check_shape(out.size() == x.rows(), "argmax", x);
  CudaDevice& device = stream.cuda();
  // Parts first, then what was found.
  const std::size_t part_bytes = out.size() * kernels::kArgmaxParts * 8;
  std::byte* parts = device.scratch(part_bytes + out.size_bytes());
  std::byte* found = parts + part_bytes;
  kernels::argmax_cuda(device, reinterpret_cast<std::int32_t*>(found), floats(x), x.rows(), x.columns(),
                       parts);
  std::byte* to = device.host_buffer(out.size_bytes());
  device.flush();
  check_cuda(cudaMemcpyAsync(to, found, out.size_bytes(), cudaMemcpyDeviceToHost, device.stream()),
             "downloading");
  device.synchronize();
  std::copy_n(reinterpret_cast<const TokenId*>(to), out.size(), out.begin());
}

}  // namespace lanner::device::cuda
