// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/queue.h"
#include "kernels/linear/weight_view.h"

namespace lanner::kernels {

/// How a tiled weight's codes become half-precision numbers, all exactly.
enum class TileCode : std::uint8_t { kInt4, kInt8, kHalf };

/// A matrix arranged for tensor cores: tiles of 16 outputs by chunks of 64 inputs, each one run of memory in
/// the order in which the 32 lanes of a warp need it, and a table of (scale, bias) per 16 outputs and group.
/// An element is scale * code + bias. 2 and 3 bits are kept as 4, 5 and 6 as 8; bf16 and f16 elements as
/// half-precision numbers times a power of two per group.
struct TiledWeight {
  const void* codes = nullptr;  ///< [tiles, chunks, 512 * code bits / 4 bytes]
  const void* tables =
      nullptr;             ///< [tiles, groups, 8, 2] of scale | bias << 16, outputs g and g + 8 side by side
  std::uint32_t rows = 0;  ///< outputs
  std::uint32_t columns = 0;  ///< inputs
  std::uint32_t chunks = 0;   ///< of 64 inputs, even when the group is 128
  std::uint32_t group = 64;   ///< 32, 64 or 128
  TileCode code = TileCode::kInt4;
  bool f16_tables = false;  ///< scale and bias are f16, else bf16

  constexpr std::uint32_t tiles() const { return (rows + 15) / 16; }
};

/// False for formats whose products run through linear_plain_cuda().
bool can_tile(const WeightSpec& spec);
/// Sizes of codes and tables.
std::size_t tiled_code_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns);
std::size_t tiled_table_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns);
/// The description of a tiled form at these addresses.
TiledWeight tiled_weight(const WeightSpec& spec, std::size_t rows, std::size_t columns, void* codes,
                         void* tables);
/// Fills a tiled form from a plain one; both in device memory.
void tile_weight_cuda(CudaQueue& queue, const TiledWeight& to, const WeightView& from);

/// Input rows as the tensor cores take them: x * 2^s = high + low in half precision, s such that the row's
/// largest magnitude lies in [2^13, 2^14), so 22 bits of every large element count. Units of 32 inputs, 8
/// rows side by side.
struct SplitRows {
  void* high = nullptr;      ///< [units, row tiles of 8, 32 lanes, 8 halves]
  void* low = nullptr;       ///< likewise
  float* sums = nullptr;     ///< [units, rows rounded up to 8]: sum of a unit's elements
  float* factors = nullptr;  ///< [rows]: 2^-s
  std::uint32_t units = 0;
  std::uint32_t row_tiles = 0;
};
/// Bytes that split rows take, all parts together.
std::size_t split_bytes(std::size_t rows, std::size_t columns);
/// Lays the parts out in `memory`.
SplitRows place_split(void* memory, std::size_t rows, std::size_t columns);
/// Fills them from x [rows, columns]. With `place`, pair p of `pairs` takes row p / per_row of x to row
/// place[p].
struct SplitRowsCudaArgs {
  SplitRows to;
  const float* x = nullptr;
  std::size_t rows = 0;  ///< or pairs
  std::size_t columns = 0;
  const std::uint32_t* place = nullptr;
  std::uint32_t per_row = 1;
};
void split_rows_cuda(CudaQueue& queue, const SplitRowsCudaArgs& args);

inline constexpr std::size_t kMaxProducts = 8;

/// What happens to two products before they are written.
enum class ProductGate : std::uint8_t { kNone, kGelu, kSilu };

/// Rows that go through one of several weights, as group_pairs_cuda() arranged them. All in device memory.
struct ExpertRowsCuda {
  const TiledWeight* first = nullptr;   ///< [experts]
  const TiledWeight* second = nullptr;  ///< [experts], for a gated product
  const std::uint32_t* begin = nullptr;
  const std::uint32_t* counts = nullptr;
  const std::uint32_t* active = nullptr;
  std::uint32_t experts = 0;
  std::uint32_t most = 0;   ///< experts that can have rows at most
  std::uint32_t pairs = 0;  ///< rows in all
};

/// out_i [rows, w_i.rows] = x w_iᵀ for up to kMaxProducts weights of one code and group; or, with a gate,
/// out_0 = act(x w_0ᵀ) * (x w_1ᵀ). Per output: groups in ascending order inside 8 slices of the inputs (warps
/// of a block, or passes of a large tile), products of a group by tensor cores in float, high part before
/// low, scale * sum + bias * sum of inputs by FMA, then the slices in ascending order. The order depends on
/// columns and group alone: batch-invariant: yes. Error against double: about 2^-21 of |x||w|.
struct TiledProductCudaArgs {
  TiledWeight w[kMaxProducts] = {};
  float* out[kMaxProducts] = {};
  std::uint32_t count = 0;
  ProductGate gate = ProductGate::kNone;
  std::uint32_t rows = 0;
  SplitRows x = {};
  ExpertRowsCuda experts = {};  ///< experts.experts > 0: w[0] (and w[1]) of any expert give the shape only
};
void tiled_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args);

/// Rows from which tiled_product_cuda() takes the large tile, where a gate is not supported.
inline constexpr std::size_t kLargeTileRows = 65;

/// out [rows, w.rows] = x wᵀ for any format, without tensor cores: lane k mod 32 sums its products by FMA,
/// then the lanes in halves. batch-invariant: yes.
void linear_plain_cuda(CudaQueue& queue, float* out, const float* x, std::size_t rows, const WeightView& w);

/// out[t] = row ids[t] of w times scale; ids in device memory.
void embed_plain_cuda(CudaQueue& queue, float* out, const std::int32_t* ids, std::size_t rows,
                      const WeightView& w, float scale);
void embed_tiled_cuda(CudaQueue& queue, float* out, const std::int32_t* ids, std::size_t rows,
                      const TiledWeight& w, float scale);

}  // namespace lanner::kernels
