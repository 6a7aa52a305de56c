// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/linear/linear.cuda.h"
#include "kernels/linear/row_input.cuh"
#include "kernels/linear/tile_kernels.h"

namespace lanner::kernels {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Even, so that a group of 128 at the end of a row is whole.
std::size_t padded_units(std::size_t columns) { return (columns + 127) / 128 * 4; }

// One block per row.
__global__ void __launch_bounds__(kRowThreads) split_rows_kernel(SplitRowsCudaArgs args) {
  let_next_start();
  const HeldGains gains(args.from);
  wait_for_earlier();
  __shared__ float2 shared[32];
  const std::size_t source = args.place == nullptr ? blockIdx.x : blockIdx.x / args.per_row;
  const unsigned row = args.place == nullptr ? blockIdx.x : args.place[blockIdx.x];
  const SplitRows& to = args.to;
  const bool two_parts = to.low != nullptr;
  const float factor = prepare_row(
      args.from, gains, source, to.units, two_parts, shared, [&](unsigned octet, const OctetParts& parts) {
        const unsigned unit = octet / 4;
        if (to.turned) {
          // Word p of an octet goes to step p / 2, half p % 2.
          auto* words = static_cast<std::uint32_t*>(to.high) +
                        (std::size_t{unit} * 2 * to.row_tiles + row / 8) * 64 + row % 8 * 4 + octet % 4;
          const std::size_t step = std::size_t{to.row_tiles} * 64;
          words[0] = parts.high.x;
          words[32] = parts.high.y;
          words[step] = parts.high.z;
          words[step + 32] = parts.high.w;
          return;
        }
        const std::size_t at = (std::size_t{unit} * to.row_tiles + row / 8) * 32 + row % 8 * 4 + octet % 4;
        static_cast<uint4*>(to.high)[at] = parts.high;
        if (two_parts) static_cast<uint4*>(to.low)[at] = parts.low;
        if (octet % 4 == 0) to.sums[std::size_t{unit} * to.row_tiles * 8 + row] = parts.unit_sum;
      });
  if (threadIdx.x == 0) to.factors[row] = factor;
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
  queue.launch(split_rows_kernel, {blocks_for(args.rows, 1)}, {kRowThreads}, args);
}

bool forms_rows(const TiledProductCudaArgs& args) { return args.rows <= kFormedRows && can_stream(args); }

bool takes_turned_rows(const CudaQueue& queue, const TiledWeight& w, std::size_t rows) {
  return queue.warpgroups() && w.half && rows >= kLargeTileRows;
}

void tiled_product_cuda(CudaQueue& queue, const TiledProductCudaArgs& args) {
  const std::size_t rows = args.experts.experts > 0 ? args.experts.pairs / args.experts.most : args.rows;
  if (can_stream(args)) return stream_product(queue, args);
  if (can_cluster(queue, args)) return cluster_product(queue, args);
  if (rows < kLargeTileRows || args.gate != ProductGate::kNone) return narrow_product(queue, args);
  for (unsigned i = 0; i < args.count; ++i) {
    TiledProductCudaArgs one = args;
    one.count = 1;
    one.w[0] = args.w[i];
    one.out[0] = args.out[i];
    one.residual[0] = args.residual[i];
    if (one.x.turned)
      warpgroup_product(queue, one);
    else if (one.w[0].half)
      wide_half_product(queue, one);
    else
      wide_product(queue, one);
  }
}

}  // namespace lanner::kernels
