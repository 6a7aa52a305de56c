// SPDX-License-Identifier: MIT
#include "text/grammar/multiple_state.h"

#include <numeric>

namespace lanner::text::grammar {
namespace {

using Wide = unsigned __int128;

/// 10^18 is the largest below the largest divisor.
constexpr std::uint32_t kMaxHorizon = 18;

std::uint64_t power_of_ten(std::uint32_t exponent) {
  std::uint64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

std::uint64_t shared_factor(std::uint64_t divisor, std::uint32_t digits) {
  return std::gcd(divisor, power_of_ten(digits));
}

/// The horizon with the fewest states: those completed by fewer digits, each with its completions, and the
/// rest.
std::uint32_t best_horizon(std::uint64_t divisor) {
  std::uint32_t best = 0;
  std::uint64_t fewest = divisor, near = 0;
  for (std::uint32_t horizon = 1; horizon <= kMaxHorizon; ++horizon) {
    near += power_of_ten(horizon - 1) / shared_factor(divisor, horizon - 1);
    const std::uint64_t states = near + divisor / shared_factor(divisor, horizon);
    if (states < fewest) {
      fewest = states;
      best = horizon;
    }
  }
  return best;
}

/// `state` for a remainder that is known modulo divisor / gcd(divisor, 10^known), and no fewer digits
/// complete.
MultipleState with_remainder(MultipleState state, std::uint64_t remainder, std::uint32_t known) {
  state.missing = state.horizon;
  for (std::uint32_t digits = known; digits < state.horizon; ++digits) {
    const std::uint64_t power = power_of_ten(digits);
    const auto left = static_cast<std::uint64_t>(Wide{remainder} * power % state.divisor);
    const std::uint64_t completion = left == 0 ? 0 : state.divisor - left;
    if (completion >= power) continue;
    state.missing = digits;
    break;
  }
  state.remainder = remainder % (state.divisor / shared_factor(state.divisor, state.missing));
  return state;
}

}  // namespace

MultipleState multiples_of(std::uint64_t divisor, std::uint32_t places) {
  // With places, digits that are not written count as zeros: remainders stay as they are.
  return {.divisor = divisor, .places = places, .horizon = places == 0 ? best_horizon(divisor) : 0};
}

bool is_multiple(const MultipleState& state) {
  std::uint64_t scale = 1;
  for (std::uint32_t i = 0; i < state.places; ++i)
    scale = static_cast<std::uint64_t>(Wide{scale} * 10 % state.divisor);
  return state.missing == 0 && Wide{state.remainder} * scale % state.divisor == 0;
}

std::optional<MultipleState> read_byte(const MultipleState& state, std::uint8_t byte) {
  MultipleState next = state;
  if (byte == '.') {
    if (state.in_fraction || (state.places == 0 && state.missing > 0)) return std::nullopt;
    next.in_fraction = true;
    return next;
  }
  if (byte < '0' || byte > '9') return std::nullopt;
  const unsigned digit = byte - unsigned{'0'};
  if (state.in_fraction && state.places == 0) return digit == 0 ? std::optional(next) : std::nullopt;
  if (state.in_fraction) --next.places;
  const std::uint32_t known = state.missing == 0 ? 0 : state.missing - 1;
  const std::uint64_t modulus = state.divisor / shared_factor(state.divisor, known);
  return with_remainder(next, static_cast<std::uint64_t>((Wide{state.remainder} * 10 + digit) % modulus),
                        known);
}

}  // namespace lanner::text::grammar
