// SPDX-License-Identifier: MIT
#include "kernels/linear/packed_weight.h"

#include <algorithm>
#include <cstring>

namespace lanner::kernels {
namespace {

/// Four codes of `kBits` bits each, spread to the low bits of the four bytes of a word.
template <unsigned kBits>
std::uint32_t spread(std::uint32_t codes) {
  constexpr std::uint32_t kMask = (1U << kBits) - 1U;
  return (codes & kMask) | (codes >> kBits & kMask) << 8 | (codes >> (2 * kBits) & kMask) << 16 |
         (codes >> (3 * kBits) & kMask) << 24;
}

/// The 4 * kBits bits of quad `quad` in a unit's bit string.
template <unsigned kBits>
std::uint32_t quad_bits(const std::uint8_t* unit, std::size_t quad) {
  const std::size_t bit = quad * 4 * kBits;
  std::uint64_t window = 0;
  // A quad spans at most five bytes, and a unit's last quad ends with the unit.
  const std::size_t bytes = (bit % 8 + 4 * kBits + 7) / 8;
  std::memcpy(&window, unit + bit / 8, bytes);
  return static_cast<std::uint32_t>(window >> (bit % 8));
}

/// Puts one output's 32 columns of a unit, a bit string of the checkpoint, into the unit's vectors.
template <unsigned kBits>
void pack_unit(std::uint8_t* vectors, const std::uint8_t* source, std::size_t output) {
  std::uint32_t words[kBits] = {};
  for (int quad = 0; quad < 8; ++quad) {
    const std::uint32_t codes = spread<kBits>(quad_bits<kBits>(source, static_cast<std::size_t>(quad)));
    for (const PackedPiece& piece : packed_quad(kBits, quad).pieces)
      words[piece.vector] |= (codes >> piece.from & 0x01010101U * ((1U << piece.width) - 1U)) << piece.at;
  }
  for (std::size_t v = 0; v < kBits; ++v)
    std::memcpy(vectors + v * kPackedVectorBytes + 4 * output, &words[v], sizeof(words[v]));
}

/// Exchanges the bits of `mask` with those `shift` above them, in every word of a vector or of a pair.
template <typename Words>
constexpr Words exchange(Words words, int shift, Words mask) {
  const Words differ = (words ^ words >> shift) & mask;
  return words ^ differ ^ differ << shift;
}

/// The same for widths whose words of a checkpoint hold the codes of whole vectors: each word of codes
/// becomes a word of a vector by reordering its elements, two words at a time.
void pack_16_of_4_bits(std::uint8_t* vectors, const std::uint8_t* source, std::size_t output) {
  std::uint64_t words = 0;
  std::memcpy(&words, source, sizeof(words));
  words = exchange<std::uint64_t>(words, 8, 0x0000ff000000ff00);  // codes 0123 4567 -> 0145 2367
  words = exchange<std::uint64_t>(words, 4, 0x00f000f000f000f0);  // -> 04 15 26 37
  std::memcpy(vectors + 4 * output, &words, 4);
  words >>= 32;
  std::memcpy(vectors + kPackedVectorBytes + 4 * output, &words, 4);
}

template <>
void pack_unit<4>(std::uint8_t* vectors, const std::uint8_t* source, std::size_t output) {
  pack_16_of_4_bits(vectors, source, output);
  pack_16_of_4_bits(vectors + 2 * kPackedVectorBytes, source + 8, output);
}

/// Four words, of four vectors or of four outputs.
using FourWords = std::uint32_t __attribute__((vector_size(16)));

FourWords four_of_4_bits(const std::uint8_t* source) {
  FourWords words;
  std::memcpy(&words, source, sizeof(words));
  words = exchange(words, 8, FourWords{} + 0x0000ff00U);
  return exchange(words, 4, FourWords{} + 0x00f000f0U);
}

/// The same bytes as 16 calls of pack_unit<4>, for sources `row_bytes` apart: four outputs by four vectors
/// are transposed at a time, so that whole vectors are written. Loading a model is little else.
void pack_16_outputs_of_4_bits(std::uint8_t* vectors, const std::uint8_t* source, std::size_t row_bytes) {
  for (std::size_t output = 0; output < kPackedTileRows; output += 4) {
    const std::uint8_t* rows = source + output * row_bytes;
    const FourWords a = four_of_4_bits(rows), b = four_of_4_bits(rows + row_bytes);
    const FourWords c = four_of_4_bits(rows + 2 * row_bytes), d = four_of_4_bits(rows + 3 * row_bytes);
    const FourWords ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const FourWords ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const FourWords cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const FourWords cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const FourWords columns[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                                  __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                                  __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                  __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
    for (std::size_t v = 0; v < 4; ++v)
      std::memcpy(vectors + v * kPackedVectorBytes + 4 * output, &columns[v], sizeof(columns[v]));
  }
}

template <>
void pack_unit<2>(std::uint8_t* vectors, const std::uint8_t* source, std::size_t output) {
  std::uint64_t words = 0;
  std::memcpy(&words, source, sizeof(words));
  words = exchange<std::uint64_t>(words, 6, 0x00cc00cc00cc00cc);  // a 4 x 4 matrix of codes, transposed
  words = exchange<std::uint64_t>(words, 12, 0x0000f0f00000f0f0);
  std::memcpy(vectors + 4 * output, &words, 4);
  words >>= 32;
  std::memcpy(vectors + kPackedVectorBytes + 4 * output, &words, 4);
}

template <>
void pack_unit<8>(std::uint8_t* vectors, const std::uint8_t* source, std::size_t output) {
  for (std::size_t v = 0; v < 8; ++v)
    std::memcpy(vectors + v * kPackedVectorBytes + 4 * output, source + 4 * v, 4);
}

/// Gathers one group's scales or biases of `outputs` rows, whose tables are `groups` elements apart.
template <typename Element>
void pack_table(std::byte* to, const void* table, std::size_t first_row, std::size_t outputs,
                std::size_t groups, std::size_t group) {
  const auto* from = static_cast<const std::byte*>(table) + (first_row * groups + group) * sizeof(Element);
  for (std::size_t o = 0; o < outputs; ++o)
    std::memcpy(to + o * sizeof(Element), from + o * groups * sizeof(Element), sizeof(Element));
}

/// Where the rows of the next tile begin, or again this one's after the last, and how they are asked for
/// while this one is packed: 16 rows side by side are more streams than the hardware follows. Measured on Zen
/// 5: 16 GB/s on two cores in place of 7.
class NextTile {
 public:
  /// `rows`: of the weight, from this tile's first on.
  NextTile(const std::uint8_t* source, std::size_t tile_bytes, std::size_t rows)
      : ahead_(source + (rows < 2 * kPackedTileRows ? 0 : tile_bytes)) {}
  void fetch(std::size_t size_bytes) {
    for (std::size_t line = 0; line < size_bytes; line += 64) __builtin_prefetch(ahead_ + line);
    ahead_ += size_bytes;
  }

 private:
  const std::uint8_t* ahead_;
};

/// One unit of a tile, the checkpoint's rows `row_bytes` apart.
template <unsigned kBits>
void pack_unit_rows(std::uint8_t* vectors, const std::uint8_t* source, std::size_t row_bytes,
                    std::size_t outputs) {
  if constexpr (kBits == 4)
    if (outputs == kPackedTileRows) return pack_16_outputs_of_4_bits(vectors, source, row_bytes);
  for (std::size_t o = 0; o < outputs; ++o) pack_unit<kBits>(vectors, source + o * row_bytes, o);
}

template <unsigned kBits>
void pack_tile(std::byte* tile, const WeightView& w, std::size_t first_row, std::size_t outputs) {
  const auto group = static_cast<std::size_t>(w.spec.group);
  constexpr std::size_t bits = kBits;
  const std::size_t scale_bytes = size_bytes(w.spec.dtype);
  const std::size_t groups = w.columns / group;
  // 32 codes are `bits` whole words, so a unit and a row begin on a byte.
  const std::size_t row_bytes = w.columns * bits / 8;
  const std::uint8_t* source = static_cast<const std::uint8_t*>(w.data) + first_row * row_bytes;
  NextTile next(source, outputs * row_bytes, w.rows - first_row);
  for (std::size_t g = 0; g < groups; ++g) {
    next.fetch(outputs * group * bits / 8);
    for (const void* table : {w.scales, w.biases}) {
      if (scale_bytes == sizeof(float))
        pack_table<float>(tile, table, first_row, outputs, groups, g);
      else
        pack_table<std::uint16_t>(tile, table, first_row, outputs, groups, g);
      tile += kPackedTileRows * scale_bytes;
    }
    for (std::size_t column = 0; column < group; column += kPackedUnitColumns) {
      pack_unit_rows<kBits>(reinterpret_cast<std::uint8_t*>(tile), source, row_bytes, outputs);
      source += bits * 4;
      tile += bits * kPackedVectorBytes;
    }
  }
}

/// mxfp4 and nvfp4.
void pack_fp4_tile(std::byte* tile, const WeightView& w, std::size_t first_row, std::size_t outputs) {
  const PackedView view{.spec = w.spec, .rows = w.rows, .columns = w.columns};
  for (std::size_t g = 0; g < view.groups(); ++g)
    pack_table<std::uint8_t>(tile + g * view.group_table_bytes(), w.scales, first_row, outputs, view.groups(),
                             g);
  const std::size_t row_bytes = w.columns / 2;
  const std::uint8_t* source = static_cast<const std::uint8_t*>(w.data) + first_row * row_bytes;
  NextTile next(source, outputs * row_bytes, w.rows - first_row);
  auto* vectors = reinterpret_cast<std::uint8_t*>(tile + view.codes_offset());
  std::size_t column = 0;
  for (; column + kPackedUnitColumns <= w.columns; column += kPackedUnitColumns) {
    next.fetch(outputs * kPackedUnitColumns / 2);
    pack_unit_rows<4>(vectors, source + column / 2, row_bytes, outputs);
    vectors += 4 * kPackedVectorBytes;
  }
  if (column < w.columns)
    for (std::size_t o = 0; o < outputs; ++o)
      pack_16_of_4_bits(vectors, source + o * row_bytes + column / 2, o);
}

using PackTileFn = void(std::byte* tile, const WeightView& w, std::size_t first_row, std::size_t outputs);

PackTileFn* find_pack_tile(const WeightSpec& spec) {
  if (spec.format != WeightFormat::kAffine) return pack_fp4_tile;
  switch (spec.bits) {
    case 2:
      return pack_tile<2>;
    case 3:
      return pack_tile<3>;
    case 4:
      return pack_tile<4>;
    case 5:
      return pack_tile<5>;
    case 6:
      return pack_tile<6>;
    default:
      return pack_tile<8>;
  }
}

}  // namespace

bool is_packable(const WeightSpec& spec) {
  switch (spec.format) {
    case WeightFormat::kAffine:
      return spec.bits >= 2 && spec.bits <= 8 && spec.bits != 7 &&
             (spec.group == 32 || spec.group == 64 || spec.group == 128);
    case WeightFormat::kMxfp4:
    case WeightFormat::kNvfp4:
      return true;
    default:
      return false;
  }
}

std::size_t packed_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns) {
  const PackedView view{.spec = spec, .rows = rows, .columns = columns};
  return view.tiles() * view.tile_bytes();
}

void pack_tiles(std::byte* data, const WeightView& w, std::size_t tile_begin, std::size_t tile_end) {
  const PackedView view{.spec = w.spec, .rows = w.rows, .columns = w.columns};
  PackTileFn* const pack_tile = find_pack_tile(w.spec);
  for (std::size_t tile = tile_begin; tile < tile_end; ++tile) {
    std::byte* target = data + tile * view.tile_bytes();
    const std::size_t first = tile * kPackedTileRows;
    const std::size_t outputs = std::min(kPackedTileRows, w.rows - first);
    if (outputs != kPackedTileRows) std::memset(target, 0, view.tile_bytes());
    pack_tile(target, w, first, outputs);
  }
}

}  // namespace lanner::kernels
