// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace lanner::text::grammar {

/// Decimal texts that are multiples of `divisor` / 10^`places`: what has been read of one so far. Texts that
/// the same digits complete are one state, as in B. Alexeev, "Minimal DFAs for testing divisibility" (2004):
/// of two remainders only what is left of them after more digits counts, since 10 may share factors with the
/// divisor.
struct MultipleState {
  std::uint64_t divisor = 1;    ///< 1 to 2^60.
  std::uint64_t remainder = 0;  ///< Of the digits so far, modulo divisor / gcd(divisor, 10^missing).
  std::uint32_t places = 0;     ///< Decimal places of the divisor that were not read yet.
  /// The fewest digits that complete the text to a multiple, where these are fewer than `horizon`; else that.
  std::uint32_t missing = 0;
  std::uint32_t horizon = 0;
  bool in_fraction = false;
  friend bool operator==(const MultipleState&, const MultipleState&) = default;
};

/// Before the first digit of a text.
MultipleState multiples_of(std::uint64_t divisor, std::uint32_t places);
bool is_multiple(const MultipleState& state);
/// nullopt where no multiple goes on with this byte.
std::optional<MultipleState> read_byte(const MultipleState& state, std::uint8_t byte);

}  // namespace lanner::text::grammar
