// SPDX-License-Identifier: MIT
// For .cu files: a block that multiplies 128 outputs by up to 128 rows with warpgroup instructions, while
// warps of its own keep rows and weights coming.
#pragma once

#include "kernels/linear/tile_product.cuh"
#include "kernels/linear/warpgroup_step.cuh"

namespace lanner::kernels {

// A block: two groups of 4 warps with 64 outputs each, and a third that asks for rows and weights and gives
// registers to the others. With a gate the second group takes the other product's outputs.
inline constexpr unsigned kGroups = 2;
inline constexpr unsigned kGroupThreads = 128;
inline constexpr unsigned kProductThreads = kGroups * kGroupThreads;
inline constexpr unsigned kThreads = kProductThreads + 128;
inline constexpr unsigned kWarps = kProductThreads / 32;
inline constexpr unsigned kTileOutputs = kGroups * 64;
inline constexpr unsigned kMostStages = 12;
inline constexpr unsigned kPitch = 68;  // of a row's 64 outputs: a warp's writes meet no bank twice

/// A block's stages in shared memory: a chunk's rows, codes and table entries each.
template <TileCode kCode, unsigned kGroup, unsigned kRows>
struct Stage {
  static constexpr unsigned kEntries = kCode == TileCode::kHalf ? 0 : kGroup == 32 ? 2 : 1;
  static constexpr unsigned kCodeBytes = 512 * kCodeVectors<kCode>;  // of a warp
  static constexpr unsigned kTableBytes = 64 * kEntries;
  static constexpr unsigned kCodes = kRows * 128;  // offsets
  static constexpr unsigned kTables = kCodes + kWarps * kCodeBytes;
  static constexpr unsigned kBytes = kTables + kWarps * kTableBytes;
  static constexpr unsigned kBlocks = kRows == 128 ? 1 : 2;  // of a multiprocessor
  // Beside the stages: values on their way between the groups.
  static constexpr unsigned kPassedBytes = kRows * kPitch * 4;
  static constexpr unsigned kMemory = (224 << 10) / kBlocks - kPassedBytes;
  static constexpr unsigned kCount = kMemory / kBytes < kMostStages ? kMemory / kBytes : kMostStages;
  static constexpr unsigned kAllBytes = kCount * kBytes + kPassedBytes;
};

/// Where a block stands.
struct Place {
  const TiledWeight* first_w = nullptr;  ///< of either group of warps
  const TiledWeight* second_w = nullptr;
  unsigned first_tile = 0;  ///< of either group's outputs
  unsigned second_tile = 0;
  unsigned row = 0;  ///< first row in the split rows
  unsigned rows = 0;
  unsigned begin = 0;  ///< chunks
  unsigned end = 0;
  ProductOut to = {};

  __device__ const TiledWeight& w(unsigned group) const { return group == 0 ? *first_w : *second_w; }
  __device__ unsigned tile(unsigned group) const { return group == 0 ? first_tile : second_tile; }
};

#if __CUDA_ARCH_FEAT_SM90_ALL

/// full[] is passed when a stage has come, empty[] when all threads of both groups have used it.
struct Barriers {
  std::uint64_t* full;
  std::uint64_t* empty;
};

/// Where a thread stands among the stages, through all that its block computes.
struct Cursor {
  unsigned stage = 0;
  unsigned round = 0;

  template <typename Stages>
  __device__ void advance() {
    if (++stage < Stages::kCount) return;
    stage = 0;
    ++round;
  }
};

__device__ inline void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

/// Arrives when this thread's copies have come.
__device__ inline void arrive_with_copies(std::uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

/// Asks for all chunks of a place, by one group of warps: rows in one run, weights in 16 bytes a thread.
template <typename Stages>
__device__ void fetch(std::uint8_t* memory, const Barriers& barriers, const SplitRows& x, const Place& place,
                      unsigned group_size, Cursor& cursor) {
  constexpr unsigned kVectors = Stages::kCodeBytes / 512;
  constexpr unsigned kTablePieces = Stages::kTableBytes == 0 ? 1 : Stages::kTableBytes / 16;
  const unsigned thread = threadIdx.x % kGroupThreads;
  const unsigned chunks = place.first_w->chunks;
  const unsigned row_bytes = (place.rows + 7) / 8 * 1024;
  const std::size_t row_step = std::size_t{x.row_tiles} * 1024;
  const auto* rows = static_cast<const std::uint8_t*>(x.high) + place.begin * row_step + place.row / 8 * 1024;
  const auto tile_of = [&](unsigned group, unsigned warp) {
    return std::size_t{min(place.tile(group) + warp, place.w(group).tiles() - 1)};
  };
  const std::uint8_t* codes[2 * kVectors];
#pragma unroll
  for (unsigned i = 0; i < 2 * kVectors; ++i) {
    const unsigned at = thread + i * kGroupThreads;
    const unsigned group = i / kVectors;
    codes[i] = static_cast<const std::uint8_t*>(place.w(group).codes) +
               (tile_of(group, at / (32 * kVectors) % 4) * chunks + place.begin) * Stages::kCodeBytes +
               at % (32 * kVectors) * 16;
  }
  const bool has_table = Stages::kTableBytes > 0 && thread < kWarps * kTablePieces;
  const unsigned table_warp = has_table ? thread / kTablePieces : 0;
  const auto* table = static_cast<const std::uint8_t*>(place.w(table_warp / 4).tables) +
                      tile_of(table_warp / 4, table_warp % 4) * (chunks * 64 / group_size) * 64 +
                      thread % kTablePieces * 16;
  const auto ask_rows = [&](unsigned stage) {
    if (thread != kGroupThreads - 32) return;  // of a warp that has no tables to ask for
    expect_bytes(barriers.full + stage, row_bytes);
    copy_bulk(memory + stage * Stages::kBytes, rows, row_bytes, barriers.full + stage);
    rows += row_step;
  };
  const auto ask_weights = [&](unsigned stage, unsigned chunk) {
    std::uint8_t* to = memory + stage * Stages::kBytes;
#pragma unroll
    for (unsigned i = 0; i < 2 * kVectors; ++i) {
      copy16(to + Stages::kCodes + (thread + i * kGroupThreads) * 16, codes[i]);
      codes[i] += Stages::kCodeBytes;
    }
    if (has_table)
      copy16(to + Stages::kTables + thread * 16, table + std::size_t{chunk * 64 / group_size} * 64);
    arrive_with_copies(barriers.full + stage);
  };
  unsigned chunk = place.begin;
  if (cursor.stage == 0 && cursor.round == 0) {
    // The block's first: its weights are asked for before the kernel that writes the rows has ended.
    const unsigned ahead = min(place.end - place.begin, Stages::kCount);
    for (unsigned i = 0; i < ahead; ++i) ask_weights(i, chunk + i);
    wait_for_earlier();
    for (unsigned i = 0; i < ahead; ++i) {
      ask_rows(i);
      cursor.advance<Stages>();
    }
    chunk += ahead;
  }
  for (; chunk < place.end; ++chunk) {
    if (cursor.round > 0) wait_barrier(barriers.empty + cursor.stage, (cursor.round - 1) % 2);
    ask_rows(cursor.stage);
    ask_weights(cursor.stage, chunk);
    cursor.advance<Stages>();
  }
}

/// A lane's codes of one chunk on their way to the tensor cores, unit by unit. Those that are fragments as
/// they are, halves, are read only when they are widened: to the compiler running products have read theirs,
/// and it would load others into the same registers meanwhile.
template <TileCode kCode, unsigned kGroup, typename Stages>
class ChunkCodes {
 public:
  /// The codes of a unit; those of 4 bits come with unit 0 for both.
  __device__ void load(const std::uint8_t* stage, unsigned unit) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    from_ = reinterpret_cast<const uint4*>(stage + Stages::kCodes + warp * Stages::kCodeBytes) + lane;
    if (kCode == TileCode::kInt8 || (kCode == TileCode::kInt4 && unit == 0)) codes_[unit] = from_[unit * 32];
    if (kCode != TileCode::kHalf && (kGroup == 32 || unit == 0))
      entry_ = reinterpret_cast<const uint2*>(stage + Stages::kTables + warp * Stages::kTableBytes +
                                              unit * 64)[lane / 4];
  }

  __device__ UnitFragments widen(unsigned unit) {
    if constexpr (kCode == TileCode::kHalf) {
#pragma unroll
      for (unsigned v = unit * 2; v < (unit + 1) * 2; ++v) codes_[v] = from_[v * 32];
    }
    return unit_elements<kCode>(codes_, unit, entry_);
  }

 private:
  const uint4* from_;
  uint4 codes_[kCodeVectors<kCode>];
  uint2 entry_;
};

/// 64 outputs by kRows rows by one group of warps: adds the slices of the place's chunks, which begin with a
/// slice, to the totals. While the products of one unit run, the weights of the next are widened.
template <TileCode kCode, unsigned kGroup, unsigned kRows, typename Stages>
__device__ void multiply(float (&totals)[kRows / 2], std::uint8_t* memory, const Barriers& barriers,
                         const Place& place, unsigned per_slice, Cursor& cursor) {
  constexpr unsigned kNone = Stages::kCount;
  float sums[kRows / 2];
#pragma unroll
  for (unsigned i = 0; i < kRows / 2; ++i) sums[i] = 0;
  if (place.begin >= place.end) return;
  ChunkCodes<kCode, kGroup, Stages> codes;
  UnitFragments f[2];
  unsigned held = kNone;  // the stage of unit 1 of the chunk before
  const auto stage_of = [&](unsigned stage) { return memory + stage * Stages::kBytes; };
  const auto await = [&] {
    wait_barrier(barriers.full + cursor.stage, cursor.round % 2);
    codes.load(stage_of(cursor.stage), 0);
  };
  const auto release = [&](unsigned stage) { arrive(barriers.empty + stage); };
  await();
  f[0] = codes.widen(0);
  for (unsigned chunk = place.begin; chunk < place.end;) {
    const unsigned slice_end = min(chunk + per_slice, place.end);
    // Slices have a loop of their own: where running products meet a branch the compiler waits for them.
    for (bool keep = false;; keep = true) {
      const unsigned stage = cursor.stage;
      const std::uint64_t rows = describe_rows(shared_address(stage_of(stage)));
      begin_products();
      multiply_step(sums, f[0].a[0], rows, keep);
      multiply_step(sums, f[0].a[1], rows + kStepOffset, true);
      end_products();
      codes.load(stage_of(stage), 1);
      wait_products<1>();
      if (held != kNone) release(held);
      f[1] = codes.widen(1);
      begin_products();
      multiply_step(sums, f[1].a[0], rows + 2 * kStepOffset, true);
      multiply_step(sums, f[1].a[1], rows + 3 * kStepOffset, true);
      end_products();
      held = stage;
      cursor.advance<Stages>();
      if (++chunk < place.end) await();
      if (chunk == slice_end) break;
      wait_products<1>();
      f[0] = codes.widen(0);
    }
    wait_products<0>();
#pragma unroll
    for (unsigned i = 0; i < kRows / 2; ++i) totals[i] += sums[i];
    release(held);
    held = kNone;
    if (chunk < place.end) f[0] = codes.widen(0);
  }
}

/// f(element of the totals, row, output) of this lane.
template <unsigned kRows, typename F>
__device__ void for_elements(F&& f) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (unsigned t = 0; t < kRows / 8; ++t)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      f(t * 4 + i, t * 8 + lane % 4 * 2 + i % 2, warp * 16 + lane / 4 + i / 2 * 8);
}

#endif

}  // namespace lanner::kernels
