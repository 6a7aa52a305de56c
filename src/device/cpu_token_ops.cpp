// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "device/cpu_norm.h"
#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {
namespace {

// Below this many elements waking the workers costs more than it saves.
constexpr std::size_t kElementGrain = 16384;

/// Rows per part so that a part holds about kElementGrain elements.
std::size_t row_grain(std::size_t row_length) {
  return std::max<std::size_t>(1, kElementGrain / std::max<std::size_t>(1, row_length));
}

/// Splits equal-shaped operands at row boundaries and calls body(first element, element count).
template <typename Body>
void split_rows(Stream& stream, const Tensor& x, Body&& body) {
  const std::size_t columns = x.columns();
  stream.pool().split(x.rows(), row_grain(columns), [&](std::size_t begin, std::size_t end, int) {
    body(begin * columns, (end - begin) * columns);
  });
}

bool same_shape(const Tensor& a, const Tensor& b) { return a.shape == b.shape; }

}  // namespace

void rms_norm(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& w, float eps) {
  check_shape(same_shape(out, x), "rms_norm", out);
  check_shape(w.data == nullptr || w.element_count() == x.shape.back(), "rms_norm", w);
  split_rows(stream, x, [&](std::size_t first, std::size_t count) {
    rms_norm_rows(stream.kernels(), out.floats().subspan(first, count), x.floats().subspan(first, count),
                  x.columns(), w, eps);
  });
}

void l2_norm(Stream& stream, const Tensor& x, std::size_t begin, std::size_t count, std::size_t dim,
             float scale) {
  check_shape(count % dim == 0 && begin + count <= x.columns(), "l2_norm", x);
  stream.pool().split(x.rows(), row_grain(count), [&](std::size_t row_begin, std::size_t row_end, int) {
    for (std::size_t row = row_begin; row < row_end; ++row) {
      const auto part = x.row(row).subspan(begin, count);
      stream.kernels().l2_norm(part, part, dim, kL2NormEps, scale);
    }
  });
}

void gated_rms_norm(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& z, const Tensor& w,
                    float eps) {
  check_shape(same_shape(out, x) && z.element_count() == x.element_count(), "gated_rms_norm", z);
  check_shape(w.element_count() == x.shape.back(), "gated_rms_norm", w);
  split_rows(stream, x, [&](std::size_t first, std::size_t count) {
    stream.kernels().gated_rms_norm(out.floats().subspan(first, count), x.floats().subspan(first, count),
                                    z.floats().subspan(first, count), w.floats(), eps);
  });
}

void rope_tables(Stream& stream, const Tensor& cos, const Tensor& sin, const RopeAngles& angles) {
  const std::size_t frequencies = angles.inverse_frequencies.size();
  check_shape(same_shape(cos, sin) && cos.rows() == angles.positions.size() && cos.columns() == frequencies &&
                  angles.axes.size() == frequencies,
              "rope_tables", cos);
  stream.pool().split(cos.rows(), row_grain(32 * frequencies), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t t = begin; t < end; ++t)
      for (std::size_t f = 0; f < frequencies; ++f) {
        const auto index = static_cast<float>(angles.positions[t][angles.axes[f]]);
        const float angle = index * angles.inverse_frequencies[f];
        cos.row(t)[f] = std::cos(angle) * angles.amplitude;
        sin.row(t)[f] = std::sin(angle) * angles.amplitude;
      }
  });
}

void add(Stream& stream, const Tensor& out, const Tensor& a, const Tensor& b) {
  check_shape(same_shape(out, a) && same_shape(a, b), "add", b);
  split_rows(stream, a, [&](std::size_t first, std::size_t count) {
    stream.kernels().add(out.floats().subspan(first, count), a.floats().subspan(first, count),
                         b.floats().subspan(first, count));
  });
}

void add_norm(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& y, const Tensor& gain,
              float eps, float factor) {
  check_shape(same_shape(out, x) && same_shape(x, y), "add_norm", y);
  check_shape(gain.data == nullptr || gain.element_count() == y.shape.back(), "add_norm", gain);
  const CpuKernels& kernels = stream.kernels();
  const std::size_t columns = y.columns();
  stream.pool().split(y.rows(), row_grain(columns), [&](std::size_t begin, std::size_t end, int thread) {
    const std::span<float> normed(stream.scratch(thread, columns), columns);
    for (std::size_t t = begin; t < end; ++t) {
      rms_norm_rows(kernels, normed, y.row(t), columns, gain, eps);
      kernels.add(out.row(t), x.row(t), normed);
      if (factor != 1) kernels.scale(out.row(t), out.row(t), factor);
    }
  });
}

void scale(Stream& stream, const Tensor& out, const Tensor& x, float factor) {
  check_shape(same_shape(out, x), "scale", x);
  split_rows(stream, x, [&](std::size_t first, std::size_t count) {
    stream.kernels().scale(out.floats().subspan(first, count), x.floats().subspan(first, count), factor);
  });
}

void gated_activation(Stream& stream, const Tensor& out, const Tensor& gate, const Tensor& up,
                      GatedActivation kind) {
  check_shape(same_shape(out, gate) && same_shape(gate, up), "gated_activation", up);
  auto* kernel = kind == GatedActivation::kGeluTanh ? stream.kernels().gelu_mul : stream.kernels().silu_mul;
  split_rows(stream, gate, [&](std::size_t first, std::size_t count) {
    kernel(out.floats().subspan(first, count), gate.floats().subspan(first, count),
           up.floats().subspan(first, count));
  });
}

void gate_rows(Stream& stream, const Tensor& out, const Tensor& x, const Tensor& gate) {
  check_shape(same_shape(out, x) && static_cast<std::size_t>(gate.element_count()) == x.rows(), "gate_rows",
              gate);
  const std::size_t columns = x.columns();
  stream.pool().split(x.rows(), row_grain(columns), [&](std::size_t begin, std::size_t end, int thread) {
    const std::span<float> wide(stream.scratch(thread, columns), columns);
    for (std::size_t t = begin; t < end; ++t) {
      std::ranges::fill(wide, gate.floats()[t]);
      stream.kernels().sigmoid_mul(out.row(t), x.row(t), wide);
    }
  });
}

void softcap(Stream& stream, const Tensor& out, const Tensor& x, float cap) {
  check_shape(same_shape(out, x), "softcap", x);
  split_rows(stream, x, [&](std::size_t first, std::size_t count) {
    stream.kernels().softcap(out.floats().subspan(first, count), x.floats().subspan(first, count), cap);
  });
}

}  // namespace lanner::device::cpu
