// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {
namespace {

// Below this many floats waking the workers costs more than it saves.
constexpr std::size_t kCopyGrain = 16384;
// Logits that one part of a search takes, and those compared at a time: independent maxima, one vector each.
constexpr std::size_t kSearchPart = 16384;
constexpr std::size_t kSearchBlock = 512;
constexpr std::size_t kSearchLanes = 16;

/// Calls body(begin, end) for parts of [0, rows) that copy about kCopyGrain floats each.
template <typename Body>
void split_copies(Stream& stream, std::size_t rows, std::size_t row_length, Body&& body) {
  const std::size_t grain = std::max<std::size_t>(1, kCopyGrain / std::max<std::size_t>(1, row_length));
  stream.pool().split(rows, grain, [&](std::size_t begin, std::size_t end, int) { body(begin, end); });
}

float largest(std::span<const float> values) {
  float lanes[kSearchLanes];
  std::ranges::fill(lanes, -std::numeric_limits<float>::infinity());
  const std::size_t whole = values.size() - values.size() % kSearchLanes;
  for (std::size_t i = 0; i < whole; i += kSearchLanes)
    for (std::size_t lane = 0; lane < kSearchLanes; ++lane)
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
  for (std::size_t i = whole; i < values.size(); ++i) lanes[0] = std::max(lanes[0], values[i]);
  return *std::ranges::max_element(lanes);
}

struct Found {
  float value = -std::numeric_limits<float>::infinity();
  std::size_t index = 0;
};

/// The first of the largest values of [begin, end).
Found find_largest(std::span<const float> row, std::size_t begin, std::size_t end) {
  Found best{.index = begin};
  std::size_t best_block = begin;
  for (std::size_t block = begin; block < end; block += kSearchBlock) {
    const float value = largest(row.subspan(block, std::min(kSearchBlock, end - block)));
    if (!(value > best.value)) continue;
    best.value = value;
    best_block = block;
  }
  const auto found = std::ranges::find(row.subspan(best_block, end - best_block), best.value);
  if (found != row.subspan(best_block, end - best_block).end())
    best.index =
        best_block + static_cast<std::size_t>(found - row.subspan(best_block, end - best_block).begin());
  return best;
}

}  // namespace

void copy(Stream& /*stream*/, const Tensor& out, const Tensor& x) {
  check_shape(out.element_count() == x.element_count(), "copy", x);
  std::ranges::copy(x.floats(), out.floats().begin());
}

void take_rows(Stream& stream, const Tensor& out, const Tensor& x, std::span<const std::size_t> rows) {
  check_shape(out.rows() == rows.size() && out.columns() == x.columns(), "take_rows", out);
  split_copies(stream, rows.size(), x.columns(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) std::ranges::copy(x.row(rows[i]), out.row(i).begin());
  });
}

void swap_axes(Stream& stream, const Tensor& out, const Tensor& x) {
  check_shape(x.shape.rank() == 3 && out.shape == Shape{x.shape[1], x.shape[0], x.shape[2]}, "swap_axes", x);
  const auto outer = static_cast<std::size_t>(x.shape[0]);
  const auto inner = static_cast<std::size_t>(x.shape[1]);
  split_copies(stream, outer, inner * x.columns(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a)
      for (std::size_t b = 0; b < inner; ++b)
        std::ranges::copy(x.row(a * inner + b), out.row(b * outer + a).begin());
  });
}

void push_history(Stream& /*stream*/, std::span<const HistoryPush> pushes) {
  for (const auto& [history, rows, x] : pushes) {
    const std::size_t channels = x.columns();
    const std::size_t fresh = std::min(x.rows(), rows);
    std::memmove(history, history + fresh * channels, (rows - fresh) * channels * sizeof(float));
    std::memcpy(history + (rows - fresh) * channels, x.floats().data() + (x.rows() - fresh) * channels,
                fresh * channels * sizeof(float));
  }
}

std::span<float> host_floats(Stream& /*stream*/, const Tensor& x) { return x.floats(); }

void argmax(Stream& stream, std::span<TokenId> out, const Tensor& x) {
  check_shape(out.size() == x.rows(), "argmax", x);
  const std::size_t parts = (x.columns() + kSearchPart - 1) / kSearchPart;
  std::vector<Found> found(out.size() * parts);
  stream.pool().split(found.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t item = begin; item < end; ++item) {
      const std::size_t first = item % parts * kSearchPart;
      found[item] = find_largest(x.row(item / parts), first, std::min(x.columns(), first + kSearchPart));
    }
  });
  for (std::size_t t = 0; t < out.size(); ++t)
    out[t] = static_cast<TokenId>(
        std::ranges::max_element(std::span(found).subspan(t * parts, parts), {}, &Found::value)->index);
}

}  // namespace lanner::device::cpu
