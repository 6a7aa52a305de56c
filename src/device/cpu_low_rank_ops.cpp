// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "device/cpu_op_functions.h"
#include "device/shape_check.h"

namespace lanner::device::cpu {
namespace {

// What one thread forms at a time: rows and outputs of a tile, which stays in its cache.
constexpr std::size_t kTileRows = 32;
constexpr std::size_t kTileOutputs = 128;

std::size_t tiles_of(std::size_t count, std::size_t tile) { return (count + tile - 1) / tile; }

/// A product x wᵀ cut into tiles.
struct TiledProduct {
  const Matrix* w = nullptr;
  const float* x = nullptr;
  std::size_t rows = 0;

  std::size_t tiles() const { return tiles_of(rows, kTileRows) * tiles_of(w->rows(), kTileOutputs); }
  std::size_t first_row(std::size_t tile) const { return tile % tiles_of(rows, kTileRows) * kTileRows; }
  std::size_t first_output(std::size_t tile) const { return tile / tiles_of(rows, kTileRows) * kTileOutputs; }
  std::size_t row_count(std::size_t tile) const { return std::min(kTileRows, rows - first_row(tile)); }
  std::size_t output_count(std::size_t tile) const {
    return std::min(kTileOutputs, w->rows() - first_output(tile));
  }

  void form(std::size_t tile, float* out, std::size_t out_stride, float* scratch) const {
    const std::size_t first = first_output(tile);
    const std::size_t count = output_count(tile);
    w->kernels().linear(weight_rows(w->view(), first, first + count),
                        {.x = x + first_row(tile) * w->columns(),
                         .x_stride = w->columns(),
                         .out = out,
                         .out_stride = out_stride,
                         .rows = row_count(tile),
                         .column_begin = 0,
                         .column_end = count,
                         .scratch = scratch});
  }
};

/// Calls body(item, tile, thread) for every tile of every item, whose product is product_of(item).
template <typename Item, typename Product, typename Body>
void for_tiles(Stream& stream, std::span<const Item> items, const Product& product_of, const Body& body) {
  std::size_t total = 0;
  for (const Item& item : items) total += product_of(item).tiles();
  stream.pool().split(total, 1, [&](std::size_t begin, std::size_t end, int thread) {
    std::size_t first = 0;  // tile at which the current item begins
    for (const Item& item : items) {
      const std::size_t count = product_of(item).tiles();
      for (std::size_t tile = std::max(begin, first); tile < std::min(end, first + count); ++tile)
        body(item, tile - first, thread);
      first += count;
    }
  });
}

/// scale * (x aᵀ) of one part, [T, R].
struct Shrunk {
  const LowRank* part = nullptr;
  TiledProduct product;
  float* z = nullptr;

  void form(std::size_t tile, float* scratch) const {
    const std::size_t rank = part->a->rows();
    float* const out = z + product.first_row(tile) * rank + product.first_output(tile);
    product.form(tile, out, rank, scratch);
    for (std::size_t row = 0; row < product.row_count(tile); ++row)
      for (std::size_t i = 0; i < product.output_count(tile); ++i) out[row * rank + i] *= part->scale;
  }
};

/// The parts of one call, on their way into its output.
struct Expanded {
  Tensor out;
  std::span<const Shrunk> parts;

  TiledProduct product(const Shrunk& shrunk) const { return {shrunk.part->b, shrunk.z, out.rows()}; }

  /// scratch: two tiles, then the kernels'.
  void add(const Stream& stream, std::size_t tile, float* scratch) const {
    float* const sum = scratch;
    float* const next = sum + kTileRows * kTileOutputs;
    float* const rest = next + kTileRows * kTileOutputs;
    const TiledProduct shape = product(parts.front());
    const std::size_t rows = shape.row_count(tile);
    const std::size_t width = shape.output_count(tile);
    const auto row_of = [&](float* tile_data, std::size_t row) {
      return std::span(tile_data + row * kTileOutputs, width);
    };
    shape.form(tile, sum, kTileOutputs, rest);
    for (const Shrunk& shrunk : parts.subspan(1)) {
      product(shrunk).form(tile, next, kTileOutputs, rest);
      for (std::size_t row = 0; row < rows; ++row)
        stream.kernels().add(row_of(sum, row), row_of(sum, row), row_of(next, row));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const auto target = out.row(shape.first_row(tile) + row).subspan(shape.first_output(tile), width);
      stream.kernels().add(target, target, row_of(sum, row));
    }
  }
};

void check(const LowRankCall& call) {
  check_shape(!call.parts.empty() && call.out.rows() == call.x.rows(), "add_low_rank", call.out);
  for (const LowRank& part : call.parts) {
    check_shape(part.a->columns() == call.x.columns(), "add_low_rank", call.x);
    check_shape(part.b->rows() == call.out.columns() && part.b->columns() == part.a->rows(), "add_low_rank",
                call.out);
  }
}

}  // namespace

void add_low_rank(Stream& stream, std::span<const LowRankCall> calls) {
  std::vector<Shrunk> shrunk;
  std::size_t z_floats = 0;
  std::size_t widest = 0;  // input of any product
  for (const LowRankCall& call : calls) {
    check(call);
    for (const LowRank& part : call.parts) {
      shrunk.push_back({&part, {part.a, call.x.floats().data(), call.x.rows()}, nullptr});
      z_floats += call.x.rows() * part.a->rows();
      widest = std::max({widest, part.a->columns(), part.a->rows()});
    }
  }
  auto* z = reinterpret_cast<float*>(stream.shared_scratch(z_floats * sizeof(float)));
  std::vector<Expanded> expanded;
  std::size_t index = 0;
  for (const LowRankCall& call : calls) {
    expanded.push_back({call.out, std::span(shrunk).subspan(index, call.parts.size())});
    for (const LowRank& part : call.parts) {
      shrunk[index++].z = z;
      z += call.x.rows() * part.a->rows();
    }
  }
  const std::size_t kernel_floats = kernels::linear_scratch_floats(widest);
  for_tiles(
      stream, std::span<const Shrunk>(shrunk), [](const Shrunk& item) { return item.product; },
      [&](const Shrunk& item, std::size_t tile, int thread) {
        item.form(tile, stream.scratch(thread, kernel_floats));
      });
  for_tiles(
      stream, std::span<const Expanded>(expanded),
      [](const Expanded& item) { return item.product(item.parts.front()); },
      [&](const Expanded& item, std::size_t tile, int thread) {
        item.add(stream, tile, stream.scratch(thread, 2 * kTileRows * kTileOutputs + kernel_floats));
      });
}

}  // namespace lanner::device::cpu
