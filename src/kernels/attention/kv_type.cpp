// SPDX-License-Identifier: MIT
#include "kernels/attention/kv_type.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/float_convert.h"

namespace lanner::kernels {
namespace {

struct TypeName {
  KvType type;
  std::string_view name;
};

constexpr std::array<TypeName, 5> kNames = {{{KvType::kF32, "f32"},
                                             {KvType::kBF16, "bf16"},
                                             {KvType::kAffine8, "q8"},
                                             {KvType::kAffine6, "q6"},
                                             {KvType::kAffine4, "q4"}}};

struct Affine {
  float scale;
  float bias;
};

/// Source: MLX 0.32.2, affine quantize of the CPU backend.
Affine choose_affine(const float* x, std::size_t count, float levels) {
  constexpr float kEpsilon = 1e-7F;
  const auto [low, high] = std::minmax_element(x, x + count);
  const float span = std::max((*high - *low) / levels, kEpsilon);
  const bool low_dominates = std::abs(*low) > std::abs(*high);
  const float edge = low_dominates ? *low : *high;
  const float step = low_dominates ? span : -span;
  const float edge_code = std::nearbyint(edge / step);
  if (edge_code == 0) return {step, 0};
  return {edge / edge_code, edge};
}

/// Codes of one group as one byte each, zero beyond count.
Affine quantize_group(std::uint8_t* codes, const float* x, std::size_t count, int bits) {
  const auto levels = static_cast<float>((1 << bits) - 1);
  const Affine affine = choose_affine(x, count, levels);
  std::fill_n(codes, kKvGroup, std::uint8_t{0});
  for (std::size_t i = 0; i < count; ++i) {
    // Adding and subtracting 1.5 * 2^23 rounds to an integer, half to even.
    const float code = std::min(std::max(0.0F, (x[i] - affine.bias) / affine.scale), levels);
    codes[i] = static_cast<std::uint8_t>((code + 0x1.8p23F) - 0x1.8p23F);
  }
  return affine;
}

void pack_group(std::uint8_t* to, const std::uint8_t* codes, int bits) {
  if (bits == 8) {
    std::copy_n(codes, kKvGroup, to);
    return;
  }
  for (std::size_t j = 0; j < 32; ++j)
    to[j] = static_cast<std::uint8_t>((codes[j] & 0xf) | ((codes[32 + j] & 0xf) << 4));
  if (bits == 6)
    for (std::size_t j = 0; j < 16; ++j)
      to[32 + j] = static_cast<std::uint8_t>((codes[j] >> 4) | (codes[16 + j] >> 4 << 2) |
                                             (codes[32 + j] >> 4 << 4) | (codes[48 + j] >> 4 << 6));
}

unsigned code_at(const std::uint8_t* group, std::size_t i, int bits) {
  if (bits == 8) return group[i];
  const unsigned low = (group[i % 32] >> (i / 32 * 4)) & 0xfU;
  if (bits == 4) return low;
  return low | ((group[32 + i % 16] >> (i / 16 * 2)) & 3U) << 4;
}

std::uint16_t* scales_of(const KvLayout& layout, std::byte* head, std::size_t place, std::size_t group) {
  auto* scales = reinterpret_cast<std::uint16_t*>(head + layout.scales_offset());
  return scales + (place * layout.groups() + group) * 2;
}

void write_affine(const KvLayout& layout, std::byte* head, std::size_t place, const float* x) {
  const int bits = code_bits(layout.type);
  auto* row = reinterpret_cast<std::uint8_t*>(head + place * layout.row_bytes());
  for (std::size_t group = 0; group < layout.groups(); ++group) {
    const std::size_t begin = group * kKvGroup;
    std::uint8_t codes[kKvGroup];
    const Affine affine = quantize_group(codes, x + begin, std::min(kKvGroup, layout.head_dim - begin), bits);
    pack_group(row + group * layout.group_bytes(), codes, bits);
    std::uint16_t* scales = scales_of(layout, head, place, group);
    scales[0] = float_to_bf16(affine.scale);
    scales[1] = float_to_bf16(affine.bias);
  }
}

}  // namespace

std::string_view name(KvType type) { return std::ranges::find(kNames, type, &TypeName::type)->name; }

std::optional<KvType> parse_kv_type(std::string_view text) {
  const auto* const found = std::ranges::find(kNames, text, &TypeName::name);
  if (found == kNames.end()) return std::nullopt;
  return found->type;
}

int code_bits(KvType type) {
  switch (type) {
    case KvType::kAffine8:
      return 8;
    case KvType::kAffine6:
      return 6;
    case KvType::kAffine4:
      return 4;
    default:
      return 0;
  }
}

std::size_t KvLayout::row_bytes() const {
  if (type == KvType::kF32) return head_dim * sizeof(float);
  if (type == KvType::kBF16) return head_dim * sizeof(std::uint16_t);
  return groups() * group_bytes();
}

std::size_t KvLayout::head_bytes() const {
  const std::size_t scales = code_bits(type) == 0 ? 0 : 2 * sizeof(std::uint16_t) * groups();
  return kKvBlock * (row_bytes() + scales);
}

void write_kv_rows(void* const* blocks, std::size_t first_block, const KvLayout& layout, const float* x,
                   std::size_t rows, std::size_t kv_heads, std::size_t position) {
  for (std::size_t row = 0; row < rows; ++row) {
    auto* block = static_cast<std::byte*>(blocks[(position + row) / kKvBlock - first_block]);
    const std::size_t place = (position + row) % kKvBlock;
    for (std::size_t head = 0; head < kv_heads; ++head) {
      const float* from = x + (row * kv_heads + head) * layout.head_dim;
      std::byte* to = block + head * layout.head_bytes();
      std::byte* element = to + place * layout.row_bytes();
      if (layout.type == KvType::kF32)
        std::copy_n(from, layout.head_dim, reinterpret_cast<float*>(element));
      else if (layout.type == KvType::kBF16)
        std::transform(from, from + layout.head_dim, reinterpret_cast<std::uint16_t*>(element),
                       float_to_bf16);
      else
        write_affine(layout, to, place, from);
    }
  }
}

float kv_element(const KvLayout& layout, const void* head, std::size_t place, std::size_t index) {
  const auto* row = static_cast<const std::byte*>(head) + place * layout.row_bytes();
  if (layout.type == KvType::kF32) return reinterpret_cast<const float*>(row)[index];
  if (layout.type == KvType::kBF16) return bf16_to_float(reinterpret_cast<const std::uint16_t*>(row)[index]);
  const std::size_t group = index / kKvGroup;
  const auto* codes = reinterpret_cast<const std::uint8_t*>(row) + group * layout.group_bytes();
  const auto* scales =
      reinterpret_cast<const std::uint16_t*>(static_cast<const std::byte*>(head) + layout.scales_offset()) +
      (place * layout.groups() + group) * 2;
  const unsigned code = code_at(codes, index % kKvGroup, code_bits(layout.type));
  return std::fma(static_cast<float>(code), bf16_to_float(scales[0]), bf16_to_float(scales[1]));
}

}  // namespace lanner::kernels
