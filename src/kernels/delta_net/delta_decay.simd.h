// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/delta_net/delta_net.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/vec_math.h"

namespace lanner::kernels {
namespace {

/// The log decays of one open chunk up to some row t: slot 0 is G(-1,t), that of the boundary state, slot i+1
/// is G(i,t), that of entry i; g_{i+1} is added first and g_t last, so the bits do not depend on where a call
/// began.
class DecayLedger {
 public:
  /// Moves to the next row, whose log decay is g.
  void advance(float g) {
    const Vec step = splat(g);
    // The last vector's slots past rows_ take the sum too; each is reset when its own row begins.
    for (std::size_t i = 0; i <= rows_; i += kLanes) store(sums_ + i, load(sums_ + i) + step);
    sums_[++rows_] = 0;
  }

  /// e^G of the state, then of the entries: weights[0, rows] from slots [0, rows]; writes whole vectors.
  void weights(float* to) const {
    for (std::size_t i = 0; i <= rows_; i += kLanes) store(to + i, vec_exp(load(sums_ + i)));
  }

  /// Floats that weights() may write.
  static constexpr std::size_t kSlots = kMostDeltaChunk + kLanes;

 private:
  float sums_[kSlots] = {};
  std::size_t rows_ = 0;
};

}  // namespace
}  // namespace lanner::kernels
