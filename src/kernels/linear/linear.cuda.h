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
  bool f16_tables = false;         ///< scale and bias are f16, else bf16
  bool half = false;               ///< products in half precision
  const float* factors = nullptr;  ///< of half: [tiles * 16], a power of two per output

  constexpr std::uint32_t tiles() const { return (rows + 15) / 16; }
  /// Half-precision parts that its products take of every input.
  constexpr unsigned parts() const { return half ? 1 : 2; }
};

// With `half` products are computed in half precision: an element is rounded to f16 before its product, as is
// every input. Scales and biases are f16 then and, like dense elements, divided by the output's factor, so
// that an output's largest element lies in [1/2, 1), or with 4-bit codes in [2^-9, 2^-8). Their scales stand
// in the tables times 2^24.

/// False for formats whose products run through linear_plain_cuda().
bool can_tile(const WeightSpec& spec);
/// Sizes of codes and tables.
std::size_t tiled_code_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns);
std::size_t tiled_table_bytes(const WeightSpec& spec, std::size_t rows, std::size_t columns);
/// The description of a tiled form at these addresses; with factors [rows rounded up to 16], for half
/// precision.
TiledWeight tiled_weight(const WeightSpec& spec, std::size_t rows, std::size_t columns, void* codes,
                         void* tables, float* factors);
/// Fills a tiled form from a plain one; both in device memory.
void tile_weight_cuda(CudaQueue& queue, const TiledWeight& to, const WeightView& from);

/// What happens to two products before they are written, or on their way into the next.
enum class ProductGate : std::uint8_t { kNone, kGelu, kSilu };

/// A row that is a sum: (x + y / sqrt(mean y² + eps) * gain) * factor, to the bits of add_norm_cuda(), which
/// goes to `out` as well.
struct RowSumCuda {
  const float* y = nullptr;     ///< [rows, columns]; nullptr: no sum
  const float* gain = nullptr;  ///< [columns]
  float* out = nullptr;         ///< [rows, columns], neither x nor y
  float eps = 0;
  float factor = 1;
};
/// Columns at most of rows that are sums.
inline constexpr std::size_t kMostSumColumns = 8192;

/// Rows on their way into products: x, or its RMS norm x / sqrt(mean x² + eps) * gain, or act(x) * up.
struct RowInputCuda {
  const float* x = nullptr;     ///< [rows, columns]
  const float* gain = nullptr;  ///< [columns]; nullptr: none
  float eps = 0;
  bool norm = false;
  std::uint32_t columns = 0;  ///< a multiple of 8
  const float* up =
      nullptr;  ///< [rows, columns], with a gate and without a norm; for split_rows_cuda() alone
  ProductGate gate = ProductGate::kNone;
  RowSumCuda sum = {};  ///< what stands for x, of few rows; without a gate
};

/// Input rows as the tensor cores take them: x * 2^s = high + low in half precision, s such that the row's
/// largest magnitude lies in [2^13, 2^14), so 22 bits of every large element count; of one part alone, for
/// weights in half precision, 11.
/// Units of 32 inputs, 8 rows side by side.
struct SplitRows {
  void* high = nullptr;      ///< [units, row tiles of 8, 32 lanes, 8 halves]
  void* low = nullptr;       ///< likewise; nullptr: one part
  float* sums = nullptr;     ///< [units, rows rounded up to 8]: sum of a unit's elements; of two parts only
  float* factors = nullptr;  ///< [rows]: 2^-s
  std::uint32_t units = 0;
  std::uint32_t row_tiles = 0;
  bool turned =
      false;  ///< high is [chunks of 64, row tiles of 8, 4 steps, 2 halves, 8 rows, 8 inputs], for warpgroups
};
/// Bytes that split rows take, all parts together.
std::size_t split_bytes(std::size_t rows, std::size_t columns, unsigned parts);
/// Lays the parts out in `memory`.
SplitRows place_split(void* memory, std::size_t rows, std::size_t columns, unsigned parts,
                      bool turned = false);
/// Fills them from `from`. With `place`, row t of x goes to the rows place[t * per_row + j].
struct SplitRowsCudaArgs {
  SplitRows to;
  RowInputCuda from;
  std::size_t rows = 0;
  const std::uint32_t* place = nullptr;
  std::uint32_t per_row = 1;
};
void split_rows_cuda(CudaQueue& queue, const SplitRowsCudaArgs& args);

inline constexpr std::size_t kMaxProducts = 8;

/// Neighbouring rows of a product that go through the same weight.
struct ExpertTile {
  std::uint32_t expert = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Rows of one ExpertTile at most: of small tiles, of large ones, and of large ones by warpgroups.
inline constexpr std::uint32_t kExpertTileRows = 8;
inline constexpr std::uint32_t kLargeExpertTileRows = 128;
inline constexpr std::uint32_t kWarpgroupTileRows = 64;

/// What rows choose their experts by.
struct ExpertLogitsCuda {
  const float* logits = nullptr;        ///< [rows, n_experts]; nullptr: they were chosen before
  const float* expert_scale = nullptr;  ///< [n_experts], of the weights of the chosen; nullptr: none
  /// [rows], or nullptr: a row's last expert, n_experts, has the weight sigmoid(gate).
  const float* shared_gate = nullptr;
  std::uint32_t n_experts = 0;
  std::uint32_t k = 0;  ///< besides a shared one; at most 32

  constexpr std::uint32_t per_row() const { return k + (shared_gate != nullptr ? 1 : 0); }
};

/// Rows that choose by themselves, and most experts for that.
inline constexpr std::size_t kChoosingRows = 2;
inline constexpr std::size_t kMostChoosable = 256;

/// Rows that go through one of several weights: those of the tiles, or row p through weight chosen[p]. All in
/// device memory.
struct ExpertRowsCuda {
  const TiledWeight* first = nullptr;     ///< [experts]
  const TiledWeight* second = nullptr;    ///< [experts], for a gated product
  const ExpertTile* tiles = nullptr;      ///< as group_pairs_cuda() arranged them, or nullptr
  const std::uint32_t* used = nullptr;    ///< how many tiles there are
  const std::int32_t* chosen = nullptr;   ///< without tiles
  const std::uint32_t* source = nullptr;  ///< the split row of each row; nullptr: row / per_row
  std::uint32_t per_row = 1;
  std::uint32_t most = 0;        ///< tiles, or rows without them, at most; 0: no experts
  ExpertLogitsCuda choice = {};  ///< with logits in place of `chosen`: few rows, formed of `input`

#ifdef __CUDACC__
  __device__ unsigned used_tiles() const { return tiles == nullptr ? most : *used; }
  __device__ ExpertTile tile(unsigned at) const {
    return tiles == nullptr ? ExpertTile{std::uint32_t(chosen[at]), at, 1} : tiles[at];
  }
  __device__ unsigned source_of(unsigned row) const {
    return source == nullptr ? row / per_row : source[row];
  }
#endif
};

/// out_i [rows, w_i.rows] = x w_iᵀ (+ residual_i) for up to kMaxProducts weights of one code and group; or,
/// with a gate, out_0 = act(x w_0ᵀ) * (x w_1ᵀ), or act(x w_0ᵀ) * up. Per output: groups in ascending order
/// inside 8 slices of the inputs (warps of a block, or passes of a large tile), products of a group by tensor
/// cores in float, high part before low, scale * sum + bias * sum of inputs by FMA, then the slices in
/// ascending order. The order depends on columns and group alone: batch-invariant: yes. Error against double:
/// about 2^-21 of |x||w|. With weights in half precision a slice is one sum by tensor cores of rounded
/// elements times rounded inputs: about 2^-11.
struct TiledProductCudaArgs {
  TiledWeight w[kMaxProducts] = {};
  float* out[kMaxProducts] = {};
  const float* residual[kMaxProducts] = {};  ///< [rows, w_i.rows], may be out_i; nullptr: none
  std::uint32_t count = 0;
  ProductGate gate = ProductGate::kNone;
  const float* up = nullptr;  ///< [rows, w_0.rows]: of a gate, in place of w_1; where takes_up() says so
  std::uint32_t rows = 0;
  SplitRows x = {};
  RowInputCuda input = {};      ///< in place of x where forms_rows(), or of rows that choose their experts
  ExpertRowsCuda experts = {};  ///< experts.most > 0: w[0] (and w[1]) of any expert give the shape only
};
void tiled_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args);
/// The same with experts, whose tiles hold kExpertTileRows or kLargeExpertTileRows rows: by `large`. In large
/// tiles a row is its own source, and gates are for turned rows alone.
void expert_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args, bool large);

/// True when the product takes turned rows; decided by shapes and rows.
bool takes_turned_rows(const CudaQueue& queue, const TiledProductCudaArgs& args);

/// A row's experts, one after the other, and their weighted sum:
/// out[t] = residual[t] + sum_j weights[t, j] * down_e x[t * per_row + j], e = experts[t, j], j ascending; to
/// the bits of products and combine_experts_cuda(). For few rows, right after the product that filled x: the
/// kernel ahead must have waited for the one that chose the experts or wrote their logits.
struct JoinExpertsCudaArgs {
  float* out = nullptr;
  const float* residual = nullptr;  ///< nullptr: none
  const float* gated = nullptr;     ///< x [rows * per_row, columns]
  const TiledWeight* down = nullptr;
  TiledWeight shape = {};  ///< of any of them
  const std::int32_t* experts = nullptr;
  const float* weights = nullptr;
  ExpertLogitsCuda choice = {};  ///< with logits in place of experts and weights
  std::uint32_t rows = 0;
  std::uint32_t per_row = 0;  ///< at most kMostChosen
};
void join_experts_cuda(CudaQueue& queue, const JoinExpertsCudaArgs& args);

/// Experts of a row at most.
inline constexpr std::uint32_t kMostChosen = 33;

/// True when the product norms and splits its few rows by itself; decided by shapes and rows.
bool forms_rows(const TiledProductCudaArgs& args);

/// True when the product of one weight takes `up`; decided by shapes and rows.
bool takes_up(const TiledProductCudaArgs& args);

/// Rows up to which split_rows_cuda() and products that form their rows take sums, of kMostSumColumns at
/// most.
inline constexpr std::size_t kMostSumRows = 64;

/// Rows from which tiled_product_cuda() takes the large tile, where a gate is supported for turned rows only.
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
