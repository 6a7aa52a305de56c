// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace lanner::quantize {

/// Packs codes as a little-endian bit string: code i occupies bits [i*bits, (i+1)*bits), bit j is bit j mod 8
/// of byte j/8. codes.size() * bits is a multiple of 8 and bytes holds exactly that many bits.
void pack_codes(std::span<std::uint8_t> bytes, std::span<const std::uint8_t> codes, int bits);

}  // namespace lanner::quantize
