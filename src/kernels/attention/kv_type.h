// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lanner::kernels {

/// Keys and values live in blocks of this many consecutive positions, aligned to absolute multiples.
inline constexpr std::size_t kKvBlock = 64;

/// How keys and values are stored. kAffineN: N-bit codes with a bfloat16 scale and bias for each group of 64
/// elements of one head of one position; every position is quantized once, from its own values only.
enum class KvType : std::uint8_t { kF32, kBF16, kAffine8, kAffine6, kAffine4 };

/// "f32", "bf16", "q8", "q6", "q4".
std::string_view name(KvType type);
/// Inverse of name(); std::nullopt for anything else.
std::optional<KvType> parse_kv_type(std::string_view text);
/// Bits of one code; 0 for float types.
int code_bits(KvType type);

/// Elements that share a scale and a bias.
inline constexpr std::size_t kKvGroup = 64;

/// Where things lie in one side (keys or values) of a block: [kv_heads] of [64 positions, head_dim] elements,
/// or of codes [64, groups, 8 * bits bytes] followed by scales and biases [64, groups, 2]. A head_dim that is
/// no multiple of 64 ends in a group filled up with zero codes.
///
/// Codes of a group: byte j < 32 holds the low 4 bits of elements j (low nibble) and 32 + j (high nibble);
/// with 6 bits, byte 32 + j, j < 16, holds in bits 2k and 2k+1 the high bits of element 16k + j. With 8 bits
/// byte j is element j.
struct KvLayout {
  KvType type = KvType::kF32;
  std::size_t head_dim = 0;

  std::size_t groups() const { return (head_dim + kKvGroup - 1) / kKvGroup; }
  std::size_t group_bytes() const { return kKvGroup / 8 * static_cast<std::size_t>(code_bits(type)); }
  /// One position of one head, without scales and biases.
  std::size_t row_bytes() const;
  /// Where a head's scales and biases begin.
  std::size_t scales_offset() const { return kKvBlock * row_bytes(); }
  /// One head of a block.
  std::size_t head_bytes() const;
  /// One side of a block.
  std::size_t side_bytes(std::size_t kv_heads) const { return kv_heads * head_bytes(); }
};

/// Writes rows x [rows, kv_heads, head_dim] (float) to positions [position, position + rows) of a block table
/// whose first block is first_block. BF16: nearest even. Affine: as MLX quantizes weights (edge of larger
/// magnitude exact, zero on the grid), codes from the unrounded scale and bias. Row results are independent.
void write_kv_rows(void* const* blocks, std::size_t first_block, const KvLayout& layout, const float* x,
                   std::size_t rows, std::size_t kv_heads, std::size_t position);

/// Element `index` of position `place` of a head, widened exactly but for affine types, which round code *
/// scale + bias once. The reference of every reader.
float kv_element(const KvLayout& layout, const void* head, std::size_t place, std::size_t index);

}  // namespace lanner::kernels
