// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanner::cache {

/// What a layer remembers.
enum class CacheKind : std::uint8_t {
  kFull,       ///< keys and values of every position
  kSliding,    ///< keys and values of a window
  kRecurrent,  ///< a state
};

/// Bytes of caches by the kind of their layers.
struct CacheBytes {
  std::size_t full = 0;
  std::size_t sliding = 0;
  std::size_t recurrent = 0;

  std::size_t total() const { return full + sliding + recurrent; }
  std::size_t& of(CacheKind kind) {
    return kind == CacheKind::kFull ? full : kind == CacheKind::kSliding ? sliding : recurrent;
  }
  CacheBytes operator+(const CacheBytes& other) const {
    return {full + other.full, sliding + other.sliding, recurrent + other.recurrent};
  }
  /// `other` must be a part of these.
  CacheBytes operator-(const CacheBytes& other) const {
    return {full - other.full, sliding - other.sliding, recurrent - other.recurrent};
  }
};

}  // namespace lanner::cache
