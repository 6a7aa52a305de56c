// SPDX-License-Identifier: MIT
#include "kernels/norm/rms_norm.h"

#include <cmath>
#include <cstddef>

namespace lanner::kernels {
namespace {

double sum_of_squares(std::span<const float> x) {
  double sum = 0;
  for (float value : x) sum += double(value) * double(value);
  return sum;
}

double mean_scale(std::span<const float> x, float eps) {
  return 1 / std::sqrt(sum_of_squares(x) / double(x.size()) + double(eps));
}

}  // namespace

void rms_norm_reference(std::span<float> out, std::span<const float> x, std::span<const float> w, float eps) {
  const std::size_t dim = w.size();
  for (std::size_t row = 0; row < x.size(); row += dim) {
    const double scale = mean_scale(x.subspan(row, dim), eps);
    for (std::size_t i = 0; i < dim; ++i) out[row + i] = float(double(x[row + i]) * scale * double(w[i]));
  }
}

void rms_norm_plain_reference(std::span<float> out, std::span<const float> x, std::size_t dim, float eps) {
  for (std::size_t row = 0; row < x.size(); row += dim) {
    const double scale = mean_scale(x.subspan(row, dim), eps);
    for (std::size_t i = 0; i < dim; ++i) out[row + i] = float(double(x[row + i]) * scale);
  }
}

void l2_norm_reference(std::span<float> out, std::span<const float> x, std::size_t dim, float eps,
                       float scale) {
  for (std::size_t row = 0; row < x.size(); row += dim) {
    const double factor = double(scale) / std::sqrt(sum_of_squares(x.subspan(row, dim)) + double(eps));
    for (std::size_t i = 0; i < dim; ++i) out[row + i] = float(double(x[row + i]) * factor);
  }
}

void gated_rms_norm_reference(std::span<float> out, std::span<const float> x, std::span<const float> z,
                              std::span<const float> w, float eps) {
  const std::size_t dim = w.size();
  for (std::size_t row = 0; row < x.size(); row += dim) {
    const double scale = mean_scale(x.subspan(row, dim), eps);
    for (std::size_t i = 0; i < dim; ++i) {
      const double gate = double(z[row + i]);
      const double silu = gate / (1 + std::exp(-gate));
      out[row + i] = float(double(x[row + i]) * scale * double(w[i]) * silu);
    }
  }
}

}  // namespace lanner::kernels
