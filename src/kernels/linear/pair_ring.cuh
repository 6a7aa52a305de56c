// SPDX-License-Identifier: MIT
// For .cu files: the chunks of a warp's slices on their way from memory, in pairs.
#pragma once

#include "kernels/linear/chunk_slots.cuh"

namespace lanner::kernels {

/// What a lane copies of the pairs of chunks of one slice of one tile, from chunk `begin` on.
template <TileCode kCode, unsigned kGroup>
struct PairSource {
  const uint4* codes = nullptr;
  const uint4* tables = nullptr;  ///< of lanes that copy one of their words

  PairSource() = default;
  __device__ PairSource(const TiledWeight& w, unsigned tile, unsigned begin) {
    const unsigned lane = threadIdx.x % 32;
    codes = static_cast<const uint4*>(w.codes) +
            (std::size_t{tile} * w.chunks + begin) * (32 * kCodeVectors<kCode>)+lane;
    tables = static_cast<const uint4*>(w.tables) +
             (std::size_t{tile} * (w.chunks * 64 / kGroup) + begin * 64 / kGroup) * 4 + lane;
  }
};

/// Places in shared memory for a warp's chunks on their way, kPairs pairs of them; those of one slice follow
/// those of the slice before it. One loop for slices of all lengths: little code stays where instructions are
/// fetched from.
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kPairs>
class PairRing {
 public:
  using ThisChunk = Chunk<kCode, kGroup, kHalf>;
  static constexpr unsigned kVectors = ThisChunk::kVectors;
  /// 16-byte words of a pair's tables.
  static constexpr unsigned kTableWords = ThisChunk::kTables ? 512 / kGroup : 0;
  static constexpr unsigned kPairWords = 2 * kVectors * 32 + kTableWords;
  static constexpr std::size_t kWarpBytes = std::size_t{kPairs} * kPairWords * sizeof(uint4);

  /// Asks for the first chunks; all slices have `count`. next() tells where the next one lies, or nothing.
  template <typename Next>
  __device__ PairRing(uint4* memory, unsigned count, Next&& next)
      : memory_(memory + threadIdx.x / 32 * (kWarpBytes / sizeof(uint4))), count_(count) {
    take(next());
#pragma unroll
    for (unsigned pair = 0; pair < kPairs; ++pair) ask(memory_ + pair * kPairWords, next);
  }

  /// use(chunk) for all chunks of the slice whose turn it is. Nothing stands between the uses of a pair, so
  /// that the waits of one are hidden by the other.
  template <typename Next, typename Use>
  __device__ void walk(Next&& next, Use&& use) {
#pragma unroll 1
    for (unsigned left = count_; left > 0; left -= min(left, 2U)) {
      wait_copies<kPairs - 1>();
      __syncwarp();
      uint4* pair = memory_ + at_;
      const ThisChunk first = read(pair, 0);
      if (left > 1) {
        const ThisChunk second = read(pair, 1);
        use(first);
        use(second);
      } else {
        use(first);
      }
      __syncwarp();
      ask(pair, next);
      at_ = at_ == (kPairs - 1) * kPairWords ? 0 : at_ + kPairWords;
    }
  }

 private:
  using Source = PairSource<kCode, kGroup>;

  __device__ void take(const Source& next) {
    from_ = next;
    left_ = next.codes == nullptr ? 0 : count_;
  }

  /// Asks for the pair of chunks whose turn it is, if there is one.
  template <typename Next>
  __device__ void ask(uint4* pair, Next&& next) {
    const unsigned lane = threadIdx.x % 32;
    if (left_ > 0) {
#pragma unroll
      for (unsigned v = 0; v < 2 * kVectors; ++v)
        if (v < kVectors || left_ > 1) copy_async<16>(pair + v * 32 + lane, from_.codes + v * 32);
      if constexpr (kTableWords > 0) {
        // A group of 128 is of both chunks.
        if (lane < kTableWords && (kGroup == 128 || lane < kTableWords / 2 || left_ > 1))
          copy_async<16>(pair + 2 * kVectors * 32 + lane, from_.tables);
      }
      if (left_ > 2) {
        left_ -= 2;
        from_.codes += 2 * kVectors * 32;
        from_.tables += kTableWords;
      } else {
        take(next());
      }
    }
    commit_copies();
  }

  __device__ static ThisChunk read(const uint4* pair, unsigned which) {
    const unsigned lane = threadIdx.x % 32;
    ThisChunk chunk;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) chunk.codes[v] = pair[(which * kVectors + v) * 32 + lane];
    if constexpr (kTableWords > 0) {
      const uint2* tables = reinterpret_cast<const uint2*>(pair + 2 * kVectors * 32) + lane / 4;
#pragma unroll
      for (unsigned e = 0; e < ThisChunk::kEntries; ++e)
        chunk.entries[e] = tables[(which * 64 / kGroup + e) * 8];
    }
    return chunk;
  }

  uint4* memory_;
  unsigned count_;
  unsigned at_ = 0;    ///< words to the pair whose turn it is
  unsigned left_ = 0;  ///< chunks of the slice yet to be asked for
  Source from_;
};

}  // namespace lanner::kernels
