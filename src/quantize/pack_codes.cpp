// SPDX-License-Identifier: MIT
#include "quantize/pack_codes.h"

#include <cassert>
#include <cstddef>

namespace lanner::quantize {

void pack_codes(std::span<std::uint8_t> bytes, std::span<const std::uint8_t> codes, int bits) {
  assert(bytes.size() * 8 == codes.size() * static_cast<std::size_t>(bits));
  std::uint32_t pending = 0;
  int pending_bits = 0;
  std::size_t next = 0;
  for (const std::uint8_t code : codes) {
    pending |= std::uint32_t{code} << pending_bits;
    pending_bits += bits;
    for (; pending_bits >= 8; pending_bits -= 8, pending >>= 8)
      bytes[next++] = static_cast<std::uint8_t>(pending);
  }
}

}  // namespace lanner::quantize
