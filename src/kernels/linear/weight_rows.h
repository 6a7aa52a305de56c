// SPDX-License-Identifier: MIT
// For ISA files only: everything has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear/weight_view.h"

// Where a row's bytes lie in each storage format. A format handles kBlock columns at a time; block(row,
// column) is where the block that starts at a column lies.

namespace lanner::kernels {
namespace {

template <typename T>
inline T load_as(const void* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

struct NoGroup {};

struct DenseRow {
  const std::uint8_t* elements;
};

template <typename Element>
struct DenseRows {
  static constexpr bool kQuantized = false;
  static constexpr std::size_t kBlock = 32;
  using Row = DenseRow;
  using Group = NoGroup;

  static Row row(const WeightView& w, std::size_t n) {
    return {static_cast<const std::uint8_t*>(w.data) + n * w.columns * Element::kBytes};
  }
  static const std::uint8_t* block(const Row& row, std::size_t column) {
    return row.elements + column * Element::kBytes;
  }
  static Group group(const Row& /*row*/, std::size_t /*index*/) { return {}; }
};

struct AffineRow {
  const std::uint8_t* codes;
  const std::uint8_t* scales;
  const std::uint8_t* biases;
};

template <int kBits, std::size_t kScaleBytes>
struct AffineRows {
  static constexpr bool kQuantized = true;
  static constexpr std::size_t kBlock = 32;
  using Row = AffineRow;

  static Row row(const WeightView& w, std::size_t n) {
    const std::size_t first = n * (w.columns / static_cast<std::size_t>(w.spec.group)) * kScaleBytes;
    return {static_cast<const std::uint8_t*>(w.data) + n * w.columns / 8 * kBits,
            static_cast<const std::uint8_t*>(w.scales) + first,
            static_cast<const std::uint8_t*>(w.biases) + first};
  }
  static const std::uint8_t* block(const Row& row, std::size_t column) {
    return row.codes + column / 8 * kBits;
  }
};

struct FpRow {
  const std::uint8_t* codes;
  const std::uint8_t* scales;
};

/// The fp formats: one byte of scale a group, no bias.
template <int kBits, int kGroup>
struct FpRows {
  static constexpr bool kQuantized = true;
  static constexpr std::size_t kBlock = kGroup;
  using Row = FpRow;

  static Row row(const WeightView& w, std::size_t n) {
    return {static_cast<const std::uint8_t*>(w.data) + n * w.columns / 8 * kBits,
            static_cast<const std::uint8_t*>(w.scales) + n * (w.columns / kGroup)};
  }
  static const std::uint8_t* block(const Row& row, std::size_t column) {
    return row.codes + column / 8 * kBits;
  }
};

}  // namespace
}  // namespace lanner::kernels
