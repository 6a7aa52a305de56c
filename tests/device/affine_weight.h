// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "device/ops.h"
#include "random.h"

namespace lanner::test {

/// A random affine matrix; keeps its memory.
struct AffineWeight {
  static constexpr std::size_t kColumns = 256;

  std::vector<std::uint8_t> codes;
  std::vector<std::uint16_t> scales;
  std::vector<std::uint16_t> biases;
  kernels::WeightView view;

  AffineWeight(std::size_t rows, int bits, int group, std::uint64_t seed)
      : codes(random_bytes(rows * kColumns * static_cast<std::size_t>(bits) / 8, seed)),
        scales(rows * kColumns / static_cast<std::size_t>(group)),
        biases(scales.size()),
        view{.spec = {kernels::WeightFormat::kAffine, DType::kBF16, bits, group},
             .rows = rows,
             .columns = kColumns,
             .data = codes.data(),
             .scales = scales.data(),
             .biases = biases.data()} {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = static_cast<std::uint16_t>(0x3c00 + codes[i % codes.size()]);
      biases[i] = static_cast<std::uint16_t>(0xbd00 + codes[(i + 7) % codes.size()]);
    }
  }
  AffineWeight(const AffineWeight&) = delete;
  AffineWeight& operator=(const AffineWeight&) = delete;

  device::Matrix matrix(Isa isa, ThreadPool& pool) const {
    device::Matrix matrix(view, nullptr, isa);
    matrix.pack(isa, pool);
    return matrix;
  }
};

}  // namespace lanner::test
