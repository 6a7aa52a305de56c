// SPDX-License-Identifier: MIT
#include <cmath>

#include "kernels/delta_net/delta_net.h"

namespace lanner::kernels {
namespace {

double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

}  // namespace

void delta_net_gates(float* beta, float* log_decay, const float* b, const float* a, const float* a_log,
                     const float* dt_bias, std::size_t rows, std::size_t heads) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t i = row * heads + head;
      const double strength = 1 / (1 + std::exp(-double(b[i])));
      const double rate = std::exp(double(a_log[head]));
      const double decay = -rate * softplus(double(a[i]) + double(dt_bias[head]));
      beta[i] = float(strength);
      log_decay[i] = float(decay);
    }
}

}  // namespace lanner::kernels
