// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lanner {

/// Philox4x32-10: four random words as a pure function of key and counter. Source: Salmon et al., "Parallel
/// random numbers: as easy as 1, 2, 3", SC 2011.
std::array<std::uint32_t, 4> philox4x32(std::uint64_t key, std::array<std::uint32_t, 4> counter);

/// Word j of kPhiloxRun successive counters, which count up from counter[0]; many at a time.
inline constexpr std::size_t kPhiloxRun = 16;
using PhiloxRun = std::array<std::array<std::uint32_t, kPhiloxRun>, 4>;
PhiloxRun philox4x32_run(std::uint64_t key, std::array<std::uint32_t, 4> counter);

}  // namespace lanner
