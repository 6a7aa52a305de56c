// SPDX-License-Identifier: MIT
// For .cu files: the chunks of a slice on their way from memory to one lane.
#pragma once

#include "kernels/linear/tile_product.cuh"

namespace lanner::kernels {

template <unsigned kBytes>
__device__ inline void copy_async(void* to, const void* from) {
  const unsigned address = unsigned(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(from) : "memory");
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <unsigned kLeft>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// A lane's part of one chunk.
template <TileCode kCode, unsigned kGroup, bool kHalf>
struct Chunk {
  static constexpr unsigned kVectors = kCodeVectors<kCode>;
  static constexpr bool kTables = !(kHalf && kCode == TileCode::kHalf);
  static constexpr unsigned kEntries = kGroup == 32 ? 2 : 1;
  uint4 codes[kVectors];
  uint2 entries[kEntries];
};

/// Where a lane reads the chunks of one slice of one tile, from chunk `begin` on.
template <TileCode kCode, unsigned kGroup, bool kHalf>
struct ChunkSource {
  using ThisChunk = Chunk<kCode, kGroup, kHalf>;
  const uint4* codes = nullptr;
  const uint2* tables = nullptr;

  ChunkSource() = default;
  __device__ ChunkSource(const TiledWeight& w, unsigned tile, unsigned begin) {
    const unsigned lane = threadIdx.x % 32;
    codes = static_cast<const uint4*>(w.codes) +
            (std::size_t{tile} * w.chunks + begin) * (32 * ThisChunk::kVectors) + lane;
    tables = static_cast<const uint2*>(w.tables) +
             (std::size_t{tile} * (w.chunks * 64 / kGroup) + begin * 64 / kGroup) * 8 + lane / 4;
  }
};

/// Places in shared memory for the chunks of each lane of a block on their way. A lane reads only what it
/// copied itself, in the order in which it asked, so that no barrier is needed. (Registers would not do: a
/// wait for one load is also one for those asked for after it.)
template <TileCode kCode, unsigned kGroup, bool kHalf, unsigned kAhead, unsigned kThreads>
class ChunkSlots {
 public:
  using ThisChunk = Chunk<kCode, kGroup, kHalf>;
  using Source = ChunkSource<kCode, kGroup, kHalf>;
  static constexpr unsigned kVectors = ThisChunk::kVectors;
  static constexpr unsigned kEntries = ThisChunk::kTables ? ThisChunk::kEntries : 0;
  static constexpr std::size_t kBytes =
      std::size_t{kAhead} * kThreads * (kVectors * sizeof(uint4) + kEntries * sizeof(uint2));

  /// For thread `thread` of the kThreads that share the memory.
  __device__ explicit ChunkSlots(uint4* memory, unsigned thread = threadIdx.x)
      : codes_(memory + thread),
        entries_(reinterpret_cast<uint2*>(memory + kAhead * kVectors * kThreads) + thread) {}

  /// Asks for chunk c of a slice, to slot i; a commit must follow.
  __device__ void ask(const Source& from, unsigned i, unsigned c) {
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v)
      copy_async<16>(codes_ + (i * kVectors + v) * kThreads, from.codes + (c * kVectors + v) * 32);
    if constexpr (kEntries > 0) {
#pragma unroll
      for (unsigned e = 0; e < kEntries; ++e)
        copy_async<8>(entries_ + (i * kEntries + e) * kThreads, from.tables + (c * 64 / kGroup + e) * 8);
    }
  }

  /// Waits for the oldest of kAhead, which stands in slot i.
  __device__ ThisChunk take(unsigned i) {
    wait_copies<kAhead - 1>();
    return read(i);
  }

 private:
  __device__ ThisChunk read(unsigned i) const {
    ThisChunk chunk;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) chunk.codes[v] = codes_[(i * kVectors + v) * kThreads];
    if constexpr (kEntries > 0) {
#pragma unroll
      for (unsigned e = 0; e < kEntries; ++e) chunk.entries[e] = entries_[(i * kEntries + e) * kThreads];
    }
    return chunk;
  }

  uint4* codes_;
  uint2* entries_;
};

}  // namespace lanner::kernels
