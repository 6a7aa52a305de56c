// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace lanner::quantize {

/// True for the element types that weights come in: F32, F16, BF16.
bool is_float(DType dtype);

/// Element `index` of an array of F32, F16 or BF16 at any alignment.
float load_float(const void* base, std::size_t index, DType dtype);
/// Stores with round to nearest even.
void store_float(void* base, std::size_t index, float value, DType dtype);

/// out[i] = element i of `bytes`, rounded to `to` (as a cast to that type and back would do).
void load_floats(std::span<float> out, std::span<const std::byte> bytes, DType from, DType to);

/// Index of the first NaN or infinity, or values.size().
std::size_t find_not_finite(std::span<const float> values);

}  // namespace lanner::quantize
