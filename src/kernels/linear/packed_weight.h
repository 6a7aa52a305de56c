// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

/// Outputs of one tile, and columns of one unit, of a packed matrix.
inline constexpr std::size_t kPackedTileRows = 16;
inline constexpr std::size_t kPackedUnitColumns = 32;
inline constexpr std::size_t kPackedVectorBytes = 64;

/// Bits [from, from + width) of a quad's codes: bits [at, at + width) of the bytes of a unit's vector.
struct PackedPiece {
  int vector = 0;
  int at = 0;
  int from = 0;
  int width = 0;  ///< 0: no piece
};

struct PackedQuad {
  PackedPiece pieces[3];
};

/// Where a quad lies in a unit: whole in a vector as long as there is room, which takes the fewest
/// instructions to unpack; the last quads of 3, 5 and 6 bits fill what is left above the others.
constexpr PackedQuad packed_quad(int bits, int quad) {
  const int whole = 8 / bits;  // of a vector
  if (quad < bits * whole) return {{{quad / whole, quad % whole * bits, 0, bits}}};
  const int rest = quad - bits * whole;
  if (bits == 3) return {{{rest, 6, 0, 2}, {2, 6 + rest, 2, 1}}};
  if (bits == 6) return {{{3 * rest, 6, 0, 2}, {3 * rest + 1, 6, 2, 2}, {3 * rest + 2, 6, 4, 2}}};
  if (rest == 1) return {{{1, 5, 0, 3}, {3, 5, 3, 1}, {4, 5, 4, 1}}};
  return {{{rest, 5, 0, 3}, {3 + rest / 2, 6, 3, 2}}};
}

/// A quantized matrix interleaved for products with int8 activations. Outputs stand in tiles of 16, so that a
/// vector's lanes are outputs and no sum is ever taken across lanes; a tile is one sequential stream:
///   affine: per group 16 scales, 16 biases (spec.dtype), then the group's units of 32 columns;
///   mxfp4, nvfp4: 16 scale codes a group, padded to a whole vector, then all units (half a one is a group of
///   nvfp4);
///   per unit: `bits` vectors of 64 bytes. Byte 4o + j of a vector belongs to output o and column 4q + j of
///   quad q.
/// packed_quad() says how the 8 quads of a unit share the vectors.
/// Outputs past the matrix are padded with zero codes, scales and biases.
struct PackedView {
  WeightSpec spec;                  ///< is_packable()
  std::size_t rows = 0;             ///< outputs
  std::size_t columns = 0;          ///< a multiple of spec.group
  const std::byte* data = nullptr;  ///< 64-byte aligned

  std::size_t tiles() const { return (rows + kPackedTileRows - 1) / kPackedTileRows; }
  std::size_t groups() const { return columns / static_cast<std::size_t>(spec.group); }
  /// Bytes of one group's scales and biases, of its codes, and of both.
  std::size_t group_table_bytes() const {
    return (is_fp4() ? 1 : 2) * kPackedTileRows * size_bytes(spec.dtype);
  }
  std::size_t group_code_bytes() const {
    return kPackedTileRows * static_cast<std::size_t>(spec.group * spec.bits) / 8;
  }
  std::size_t group_bytes() const { return group_table_bytes() + group_code_bytes(); }
  /// Where the codes of a tile's first group begin.
  std::size_t codes_offset() const {
    if (!is_fp4()) return group_table_bytes();
    return (groups() * group_table_bytes() + kPackedVectorBytes - 1) / kPackedVectorBytes *
           kPackedVectorBytes;
  }
  std::size_t tile_bytes() const {
    return is_fp4() ? codes_offset() + groups() * group_code_bytes() : groups() * group_bytes();
  }
  bool is_fp4() const { return spec.format != WeightFormat::kAffine; }
};

/// True for the formats that have a packed form: affine, 2, 3, 4, 5, 6 or 8 bits, group 32, 64 or 128; mxfp4;
/// nvfp4.
bool is_packable(const WeightSpec& spec);

/// Bytes of the packed form of a matrix.
std::size_t packed_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns);

/// Writes tiles [tile_begin, tile_end) of the packed form of w to `data`, the beginning of the whole packed
/// matrix.
void pack_tiles(std::byte* data, const WeightView& w, std::size_t tile_begin, std::size_t tile_end);

}  // namespace lanner::kernels
