// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/split_row.cuh"
#include "kernels/linear/tile_kernels.h"

namespace lanner::kernels {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Even, so that a group of 128 at the end of a row is whole.
std::size_t padded_units(std::size_t columns) { return (columns + 127) / 128 * 4; }

// One block per row: of few threads where there are rows enough to fill the card.
template <unsigned kThreads, unsigned kHeld, unsigned kBlocks, RowKind kKind>
__global__ void __launch_bounds__(kThreads, kBlocks) split_rows_kernel(SplitRowsCudaArgs args) {
  let_next_start();
  split_row<kThreads, kHeld, kKind>(args, blockIdx.x);
}

template <RowKind kKind>
void split_many_rows(CudaQueue& queue, const SplitRowsCudaArgs& args) {
  const Grid grid = {blocks_for(args.rows, 1)};
  // As few threads as hold the row, or a block of few for every row at once.
  const auto split = [&]<unsigned kThreads, unsigned kHeld, unsigned kBlocks>() {
    queue.launch(split_rows_kernel<kThreads, kHeld, kBlocks, kKind>, grid, {kThreads}, args);
  };
  const std::uint32_t octets = args.from.columns / 8;
  const std::size_t places = 4 * std::size_t(queue.multiprocessors());
  if (octets <= 3 * 128 && args.rows > places) return split.template operator()<128, 4, 6>();
  if (octets <= 8 * 128 || args.rows <= places) return split.template operator()<128, 8, 4>();
  if (octets <= 6 * 256) return split.template operator()<256, 6, 2>();
  split.template operator()<512, 6, 1>();
}

}  // namespace

std::size_t split_bytes(std::size_t rows, std::size_t columns, unsigned parts) {
  const std::size_t padded = (rows + 7) / 8 * 8;
  return parts * aligned(padded * padded_units(columns) * 64) + aligned(padded * padded_units(columns) * 4) +
         aligned(padded * 4);
}

SplitRows place_split(void* memory, std::size_t rows, std::size_t columns, unsigned parts, bool turned) {
  const std::size_t padded = (rows + 7) / 8 * 8;
  const std::size_t part = aligned(padded * padded_units(columns) * 64);
  auto* bytes = static_cast<std::uint8_t*>(memory);
  auto* sums = bytes + parts * part;
  return {.high = bytes,
          .low = parts == 2 ? bytes + part : nullptr,
          .sums = reinterpret_cast<float*>(sums),
          .factors = reinterpret_cast<float*>(sums + aligned(padded * padded_units(columns) * 4)),
          .units = std::uint32_t(padded_units(columns)),
          .row_tiles = std::uint32_t(padded / 8),
          .turned = turned};
}

void split_rows_cuda(CudaQueue& queue, const SplitRowsCudaArgs& args) {
  if (args.from.up != nullptr) return split_many_rows<RowKind::kGated>(queue, args);
  if (args.from.sum.y == nullptr && args.rows > 2 * std::size_t(queue.multiprocessors()))
    return split_many_rows<RowKind::kPlain>(queue, args);
  const Grid grid = {blocks_for(args.rows, 1)};
  if (args.from.sum.y != nullptr)
    queue.launch(split_rows_kernel<kRowThreads, kSumOctets, 1, RowKind::kSum>, grid, {kRowThreads}, args);
  else
    queue.launch(split_rows_kernel<kRowThreads, held_octets(kRowThreads), 1, RowKind::kPlain>, grid,
                 {kRowThreads}, args);
}

bool forms_rows(const TiledProductCudaArgs& args) { return args.rows <= kFormedRows && can_stream(args); }

bool takes_up(const TiledProductCudaArgs& args) { return can_stream(args); }

bool takes_turned_rows(const CudaQueue& queue, const TiledProductCudaArgs& args) {
  return queue.warpgroups() && args.w[0].half && args.rows > kStreamRows;
}

void tiled_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args) {
  if (can_stream(args)) return stream_product(queue, args);
  if (args.x.turned) return warpgroup_product(queue, args);
  if (args.rows < kLargeTileRows || args.gate != ProductGate::kNone) return narrow_product(queue, args);
  for (unsigned i = 0; i < args.count; ++i) {
    TiledProductCudaArgs one = args;
    one.count = 1;
    one.w[0] = args.w[i];
    one.out[0] = args.out[i];
    one.residual[0] = args.residual[i];
    if (one.w[0].half)
      wide_half_product(queue, one);
    else
      wide_product(queue, one);
  }
}

void expert_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args, bool large) {
  if (!large)
    expert_product(queue, args);
  else if (args.x.turned)
    warpgroup_product(queue, args);
  else if (args.w[0].half)
    wide_half_product(queue, args);
  else
    wide_product(queue, args);
}

}  // namespace lanner::kernels
