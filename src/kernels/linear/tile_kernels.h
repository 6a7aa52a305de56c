// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/linear/linear.cuda.h"

namespace lanner::kernels {

/// f<code, group, half>() of a weight's kind.
template <typename F>
auto for_kind(const TiledWeight& w, F&& f) {
  const auto with_group = [&]<TileCode kCode, bool kHalf>() {
    if (w.group == 32) return f.template operator()<kCode, 32, kHalf>();
    if (w.group == 64) return f.template operator()<kCode, 64, kHalf>();
    return f.template operator()<kCode, 128, kHalf>();
  };
  switch (w.code) {
    case TileCode::kInt4:
      return w.half ? with_group.template operator()<TileCode::kInt4, true>()
                    : with_group.template operator()<TileCode::kInt4, false>();
    case TileCode::kInt8:
      return w.half ? with_group.template operator()<TileCode::kInt8, true>()
                    : with_group.template operator()<TileCode::kInt8, false>();
    default:
      return w.half ? f.template operator()<TileCode::kHalf, 64, true>()
                    : f.template operator()<TileCode::kHalf, 64, false>();
  }
}

// All compute what tiled_product_cuda() says, to the same bits.

/// Most rows of stream_product(), and of those most that it norms and splits by itself.
inline constexpr std::size_t kStreamRows = 8;
inline constexpr std::size_t kFormedRows = 2;

/// 16 outputs and up to kStreamRows rows at a time, weights on their way before the inputs are there: bound
/// by memory. No experts.
void stream_product(CudaQueue& queue, const TiledProductCudaArgs& args);
/// True when stream_product() takes this many rows: they must fit a block's shared memory.
bool can_stream(const TiledProductCudaArgs& args);
/// Tiles of up to kExpertTileRows rows and 16 outputs, from rows that are not turned: bound by memory.
void expert_product(CudaQueue& queue, const TiledProductCudaArgs& args);
/// 16 outputs and up to 64 rows at a time: bound by memory. No experts.
void narrow_product(CudaQueue& queue, const TiledProductCudaArgs& args);
/// 128 outputs by 128 rows: bound by arithmetic. One product a launch, no gate; the second for weights in
/// half precision.
void wide_product(CudaQueue& queue, const TiledProductCudaArgs& args);
void wide_half_product(CudaQueue& queue, const TiledProductCudaArgs& args);
/// 128 outputs by 32, 64 or 128 turned rows by warpgroup matrix instructions: bound by memory or arithmetic.
/// All products at once, or a gate.
void warpgroup_product(CudaQueue& queue, const TiledProductCudaArgs& args);

}  // namespace lanner::kernels
