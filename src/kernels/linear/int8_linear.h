// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cpu_features.h"
#include "kernels/linear/packed_weight.h"

namespace lanner::kernels {

/// Unsigned codes of fp4 products: twice the element, which is an integer, plus this.
inline constexpr int kFp4Zero = 12;

/// Rows of activations as int8, quantized per weight group: x ≈ scale * q, |q| <= 127.
struct QuantizedRows {
  const std::int8_t* codes = nullptr;     ///< [rows, columns]
  const float* scales = nullptr;          ///< [rows, groups]
  const float* sums = nullptr;            ///< [rows, groups]: scale * sum of the group's codes
  const std::int32_t* offsets = nullptr;  ///< [rows, groups]: -kFp4Zero * sum of the group's codes
  std::size_t columns = 0;
  std::size_t groups = 0;
};

/// The memory of QuantizedRows, to be written.
struct QuantizedTarget {
  std::int8_t* codes = nullptr;
  float* scales = nullptr;
  float* sums = nullptr;
  std::int32_t* offsets = nullptr;
};

/// Quantizes rows of x [rows, columns]: scale = max|x| / 127 over a group of `group` columns (16, 32, 64 or
/// 128), q = round-half-even(x * (127 / max|x|)); a group of zeros has scale 0. Every version gives the same
/// bits. Row results are independent: batch-invariant: yes.
using QuantizeRowsFn = void(const QuantizedTarget& to, const float* x, std::size_t rows, std::size_t columns,
                            std::size_t group);

/// Affine: out[r, n] = sum_g fma(sums[r,g], bias[n,g], fma(scales[r,g] * float(sum_k q[r,k] c[n,k]),
/// scale[n,g], ·)). mxfp4 and nvfp4: out[r, n] = f * sum_g fma(scales[r,g] * float(sum_k q[r,k] e[n,k]),
/// scale[n,g], ·), where e is twice the element; nvfp4's scale is what its code says times 2^-8, which is how
/// a half of the code's bits reads, and f = 2^7; mxfp4's f = 1/2. For rows [0, rows) and tiles [tile_begin,
/// tile_end) of 16 outputs; groups ascending from 0. The inner sum is an exact integer, the float part is as
/// written, so every version gives the same bits for any row count and any split: batch-invariant: yes. out
/// rows are out_stride apart; outputs past w.rows are not written.
using Int8LinearFn = void(const PackedView& w, const QuantizedRows& x, float* out, std::size_t out_stride,
                          std::size_t rows, std::size_t tile_begin, std::size_t tile_end);

QuantizeRowsFn quantize_rows_reference, quantize_rows_avx2, quantize_rows_avx512;

/// The kernels bound for one packed format.
struct Int8Kernels {
  Int8LinearFn* linear = nullptr;
  QuantizeRowsFn* quantize_rows = nullptr;
};

/// How a single row reads a matrix, to the same bits: as one stream that is prefetched, or as four, far from
/// each other, that the hardware follows by itself.
enum class WeightStreams { kOne, kFour };

/// Per-ISA halves of find_int8_kernels(); the spec has been checked. The AVX-512 one needs VNNI.
Int8Kernels int8_kernels_reference(const WeightSpec& spec);
Int8Kernels int8_kernels_avx2(const WeightSpec& spec, WeightStreams streams);
Int8Kernels int8_kernels_avx512(const WeightSpec& spec);

/// The kernels for a packable format on an instruction set; AVX-512 without VNNI takes AVX2's, and sets
/// without a version of their own the reference's, which is slow: see has_fast_int8().
Int8Kernels find_int8_kernels(const WeightSpec& spec, Isa isa);

/// True when the instruction set has a version that is worth quantizing activations for.
bool has_fast_int8(Isa isa);

}  // namespace lanner::kernels
