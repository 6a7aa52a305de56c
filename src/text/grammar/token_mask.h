// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/token.h"

namespace lanner::text::grammar {

/// One bit per token id: id i is bit i % 64 of word i / 64.
inline constexpr std::size_t kMaskWordBits = 64;
inline std::size_t mask_words(std::size_t vocab_size) {
  return (vocab_size + kMaskWordBits - 1) / kMaskWordBits;
}
inline void allow_token(std::span<std::uint64_t> mask, TokenId id) {
  const auto bit = static_cast<std::uint32_t>(id);
  mask[bit / kMaskWordBits] |= std::uint64_t{1} << (bit % kMaskWordBits);
}
inline bool allows_token(std::span<const std::uint64_t> mask, TokenId id) {
  const auto bit = static_cast<std::uint32_t>(id);
  return (mask[bit / kMaskWordBits] >> (bit % kMaskWordBits) & 1) != 0;
}

}  // namespace lanner::text::grammar
