// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kernels/simd/vec.h"

namespace lanner::kernels {
namespace {

/// How a vector meets memory: all lanes, or only the first few at the end of a row. A kernel body is written
/// once over either, so an element's value does not depend on which of the two it falls into.
struct WholeLanes {
  template <typename T>
  Vec load(const T* from) const {
    return kernels::load(from);
  }
  void store(float* to, Vec v) const { kernels::store(to, v); }
};

struct FirstLanes {
  std::size_t count;
  template <typename T>
  Vec load(const T* from) const {
    return load_first(from, count);
  }
  void store(float* to, Vec v) const { store_first(to, v, count); }
};

/// body(i, lanes) for every vector of [0, count), the last one possibly partial.
template <typename Body>
inline void for_vectors(std::size_t count, const Body& body) {
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) body(i, WholeLanes{});
  if (whole != count) body(whole, FirstLanes{count - whole});
}

}  // namespace
}  // namespace lanner::kernels
