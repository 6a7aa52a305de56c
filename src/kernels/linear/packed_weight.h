// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

/// Outputs of one tile, and columns of one unit, of a packed matrix.
inline constexpr std::size_t kPackedTileRows = 16;
inline constexpr std::size_t kPackedUnitColumns = 32;

/// An affine matrix interleaved for products with int8 activations. Outputs stand in tiles of 16, so that a
/// vector's lanes are outputs and no sum is ever taken across lanes; a tile is one sequential stream:
///   per group: 16 scales, 16 biases (spec.dtype), then the group's units of 32 columns;
///   per unit: `bits` vectors of 64 bytes. Byte 4o + j of a vector belongs to output o and column 4q + j of
///   quad q.
/// How the 8 quads of a unit share the vectors, by bit planes (quad q at bit p of every byte of vector v):
///   8 bits: v = q.  4 bits: v = q/2, p = 4(q%2).  2 bits: v = q/4, p = 2(q%4).
///   5 and 6 bits: the low 4 bits as with 4, then the high ones as a plane of 1 (v = 4, p = q) or 2 (v = 4 +
///   q/4). 3 bits: the low 2 bits as with 2, then a plane of 1 (v = 2, p = q).
/// Outputs past the matrix are padded with zero codes, scales and biases.
struct PackedView {
  WeightSpec spec;                  ///< kAffine
  std::size_t rows = 0;             ///< outputs
  std::size_t columns = 0;          ///< a multiple of spec.group
  const std::byte* data = nullptr;  ///< 64-byte aligned

  std::size_t tiles() const { return (rows + kPackedTileRows - 1) / kPackedTileRows; }
  std::size_t groups() const { return columns / static_cast<std::size_t>(spec.group); }
  std::size_t group_bytes() const {
    return 2 * kPackedTileRows * size_bytes(spec.dtype) + static_cast<std::size_t>(spec.group) /
                                                              kPackedUnitColumns *
                                                              static_cast<std::size_t>(spec.bits) * 64;
  }
  std::size_t tile_bytes() const { return groups() * group_bytes(); }
};

/// True for the formats that have a packed form: affine, 2, 3, 4, 5, 6 or 8 bits, group 32, 64 or 128.
bool is_packable(const WeightSpec& spec);

/// Bytes of the packed form of a matrix.
std::size_t packed_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns);

/// Writes tiles [tile_begin, tile_end) of the packed form of w to `data`, the beginning of the whole packed
/// matrix.
void pack_tiles(std::byte* data, const WeightView& w, std::size_t tile_begin, std::size_t tile_end);

}  // namespace lanner::kernels
