// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

/// Code `index` of a packed row: bits [index*bits, (index+1)*bits) of its little-endian bit string. Reads
/// only bytes that hold part of the code.
std::uint32_t unpack_code(const std::uint8_t* row, std::size_t index, int bits);

/// FP4 E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives in codes 8 to 15.
float e2m1_to_float(std::uint32_t code);

/// E8M0 scale: 2^(code - 127); code 255 is infinity.
float e8m0_to_float(std::uint8_t code);

/// Element (row, column) of a matrix as float, as DequantizeRowFn defines it (product rounded, then the sum).
float weight_element(const WeightView& w, std::size_t row, std::size_t column);

}  // namespace lanner::kernels
