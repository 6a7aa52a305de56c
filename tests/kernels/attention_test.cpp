// SPDX-License-Identifier: MIT
#include "kernels/attention/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compare.h"
#include "core/float_convert.h"
#include "guarded.h"
#include "kernels/attention_problem.h"
#include "kernels/variants.h"
#include "random.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

using Shape = AttentionShape;
using Problem = AttentionProblem;

// A score of head_dim products with |q·k| * scale about 5 errs by head_dim/2 + 4 units of 2^-24 times it, and
// moves its weight as much; the weighted sum adds its own length.
double tolerance(std::size_t head_dim, std::size_t keys) {
  return (5 * (double(head_dim) / 2 + 4) + double(keys) / 2 + 16) * 0x1p-24;
}

}  // namespace

TEST_CASE("attention: every variant matches the reference over head sizes, groups, ranges and cache types") {
  const Shape shapes[] = {{4, 1, 64},  {8, 2, 256}, {2, 2, 72}, {5, 1, 128},
                          {2, 1, 512}, {3, 1, 1},   {6, 2, 19}};
  struct Range {
    std::int32_t first;
    std::int32_t rows;
    std::int32_t window;
  };
  const Range ranges[] = {{0, 1, kFull}, {0, 70, kFull}, {63, 3, kFull},  {200, 1, kFull},
                          {150, 9, 40},  {190, 11, 130}, {1100, 2, kFull}};
  for (const Shape& shape : shapes)
    for (KvType type : kTypes)
      for (const Range& range : ranges) {
        const bool slow =
            std::size_t(range.first + range.rows) * std::size_t(range.rows) * shape.q_heads * shape.head_dim >
            2'000'000;
        if (slow && type != KvType::kF32) continue;
        const Problem problem = causal(shape, type, 0, range.first, range.rows, range.window);
        const auto want = problem.run(attention_reference, problem.rows(), shape.q_heads);
        for (const auto& variant : LANNER_VARIANTS(AttentionFn, attention)) {
          CAPTURE(variant.name());
          CAPTURE(shape.head_dim);
          CAPTURE(shape.q_heads);
          CAPTURE(lanner::kernels::name(type));
          CAPTURE(range.first);
          CAPTURE(range.rows);
          const auto got = problem.run(variant.run, problem.rows(), shape.q_heads);
          CHECK(max_scaled_error(got, want) <=
                tolerance(shape.head_dim, std::size_t(range.first + range.rows)));
        }
      }
}

TEST_CASE("attention: a row's bits do not depend on the rows and heads that share its call") {
  const Shape shapes[] = {{8, 2, 64}, {4, 1, 72}, {40, 1, 64}};
  for (const Shape& shape : shapes)
    for (KvType type : kTypes)
      for (std::int32_t window : {kFull, 50, 128}) {
        const Problem problem = causal(shape, type, 1, 120, 19, window);
        for (const auto& variant : LANNER_VARIANTS(AttentionFn, attention)) {
          CAPTURE(variant.name());
          CAPTURE(shape.head_dim);
          CAPTURE(window);
          const auto alone = problem.run(variant.run, 1, 1);
          for (std::size_t tile : {2, 3, 8, 19})
            for (std::size_t heads : {std::size_t{3}, shape.q_heads}) {
              CAPTURE(tile);
              CAPTURE(heads);
              CHECK(same_bits(problem.run(variant.run, tile, heads), alone));
            }
        }
      }
}

TEST_CASE(
    "attention: rows that see different stretches (windows, image blocks) agree with themselves alone") {
  const Shape shape{4, 2, 32};
  // A window, an image block that ends for all its rows at 140, a row that begins in the middle of a block,
  // and one key only.
  const std::vector<std::int32_t> begin = {70, 100, 100, 100, 65, 131, 64, 150};
  const std::vector<std::int32_t> end = {131, 140, 140, 140, 150, 132, 192, 200};
  const Problem problem(shape, KvType::kF32, 1, 200, begin, end);
  const auto want = problem.run(attention_reference, 1, 1);
  for (const auto& variant : LANNER_VARIANTS(AttentionFn, attention)) {
    CAPTURE(variant.name());
    const auto alone = problem.run(variant.run, 1, 1);
    CHECK(max_scaled_error(alone, want) <= tolerance(shape.head_dim, 200));
    CHECK(same_bits(problem.run(variant.run, problem.rows(), shape.q_heads), alone));
  }
}

TEST_CASE("attention: one key returns its value, and huge scores do not overflow") {
  const Shape shape{1, 1, 8};
  std::vector<float> block(2 * kKvBlock * 8, std::nanf(""));
  float* keys = block.data();
  float* values = block.data() + kKvBlock * 8;
  for (std::size_t i = 0; i < 3 * 8; ++i) {
    keys[i] = i < 8 ? 3e4F : (i < 16 ? -3e4F : 2e4F);
    values[i] = float(i);
  }
  const void* key_blocks[] = {keys};
  const void* value_blocks[] = {values};
  const std::vector<float> q(16, 1e4F);
  const std::int32_t begin[] = {0, 1};
  const std::int32_t end[] = {3, 2};
  for (const auto& variant : LANNER_VARIANTS(AttentionFn, attention)) {
    CAPTURE(variant.name());
    Guarded<float> out(16);
    std::vector<float> scratch(attention_scratch_floats(KvType::kF32, 8));
    variant.run({.q = q.data(),
                 .out = out.data(),
                 .rows = 2,
                 .q_heads = shape.q_heads,
                 .kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim,
                 .scale = 1,
                 .kv = {.keys = key_blocks, .values = value_blocks, .first_block = 0, .type = KvType::kF32},
                 .key_begin = begin,
                 .key_end = end,
                 .scratch = scratch.data()},
                0, 2, 0, 1);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(out[i] == float(i));          // the first key wins by 8e8
      CHECK(out[8 + i] == float(8 + i));  // its only key
    }
    CHECK(out.guards_intact());
  }
}

TEST_CASE("attention: segments computed apart and added give the bits of one call") {
  for (KvType type : kTypes)
    for (std::int32_t first : {511, 512, 1300}) {
      const Problem problem = causal({6, 2, 72}, type, 0, first, 3, kFull);
      const Problem windowed = causal({6, 2, 72}, type, 0, first, 3, 400);
      const auto variants = LANNER_VARIANTS(AttentionFn, attention);
      const auto segments = LANNER_VARIANTS(AttentionFn, attention_segment);
      const auto merges = LANNER_VARIANTS(AttentionFn, attention_merge);
      for (std::size_t i = 0; i < variants.size(); ++i) {
        CAPTURE(variants[i].name());
        CAPTURE(lanner::kernels::name(type));
        CAPTURE(first);
        for (const Problem* each : {&problem, &windowed})
          CHECK(same_bits(each->run_split(segments[i].run, merges[i].run), each->run(variants[i].run, 3, 6)));
      }
    }
}

TEST_CASE("write_kv_rows: places rows by absolute position, and a row is what it is alone") {
  constexpr std::size_t kHeads = 2;
  for (std::size_t dim : {5U, 64U, 100U})
    for (KvType type : kTypes) {
      CAPTURE(dim);
      CAPTURE(lanner::kernels::name(type));
      const KvLayout layout{type, dim};
      const auto x = random_normal(10 * kHeads * dim, 54);
      std::vector<std::byte> memory(2 * layout.side_bytes(kHeads));
      std::vector<std::byte> alone_memory(memory.size());
      const auto blocks_of = [&](std::vector<std::byte>& bytes) {
        return std::vector<void*>{bytes.data(), bytes.data() + layout.side_bytes(kHeads)};
      };
      const auto blocks = blocks_of(memory);
      const auto alone = blocks_of(alone_memory);
      write_kv_rows(blocks.data(), 2, layout, x.data(), 10, kHeads, 2 * kKvBlock + 60);
      for (std::size_t row = 10; row-- > 0;)
        write_kv_rows(alone.data(), 2, layout, x.data() + row * kHeads * dim, 1, kHeads,
                      2 * kKvBlock + 60 + row);
      CHECK(memory == alone_memory);
      for (std::size_t row = 0; row < 10; ++row)
        for (std::size_t head = 0; head < kHeads; ++head)
          for (std::size_t i = 0; i < dim; ++i) {
            const auto* block = static_cast<const std::byte*>(blocks[(60 + row) / kKvBlock]);
            const float got =
                kv_element(layout, block + head * layout.head_bytes(), (60 + row) % kKvBlock, i);
            const float* group = x.data() + (row * kHeads + head) * dim + i / kKvGroup * kKvGroup;
            const float value = group[i % kKvGroup];
            if (type == KvType::kF32) CHECK(got == value);
            if (type == KvType::kBF16) CHECK(got == round_to_bf16(value));
            if (code_bits(type) == 0) continue;
            const auto [low, high] =
                std::minmax_element(group, group + std::min(kKvGroup, dim - i / kKvGroup * kKvGroup));
            const float largest = std::max(std::abs(*low), std::abs(*high));
            // Half a step; re-deriving the scale moves it by half a code at most, and scale and bias are
            // rounded to 8 bits.
            const float step = (*high - *low) / float((1 << code_bits(type)) - 1);
            CHECK(std::abs(got - value) <= 1.1F * step + 3 * largest * 0x1p-8F);
          }
    }
}

TEST_CASE("write_kv_rows: an affine group keeps its larger edge and zero, and uses few bytes") {
  constexpr std::size_t kDim = 64;
  for (KvType type : {KvType::kAffine8, KvType::kAffine6, KvType::kAffine4}) {
    const KvLayout layout{type, kDim};
    CHECK(layout.side_bytes(1) == kKvBlock * (std::size_t(code_bits(type)) * kDim / 8 + 4));
    std::vector<float> x(kDim);
    for (std::size_t i = 0; i < kDim; ++i) x[i] = (float(i) - 20) / 16;
    x[40] = 0;
    std::vector<std::byte> memory(layout.side_bytes(1));
    void* block = memory.data();
    write_kv_rows(&block, 0, layout, x.data(), 1, 1, 7);
    CHECK(kv_element(layout, block, 7, 63) == round_to_bf16(x[63]));
    CHECK(std::abs(kv_element(layout, block, 7, 40)) <= x[63] * 0x1p-8F);
  }
  std::vector<float> nothing(kDim, 0.0F);
  const KvLayout layout{KvType::kAffine4, kDim};
  std::vector<std::byte> memory(layout.side_bytes(1));
  void* block = memory.data();
  write_kv_rows(&block, 0, layout, nothing.data(), 1, 1, 0);
  CHECK(kv_element(layout, block, 0, 33) == 0);
}

TEST_CASE("kv types are spelled one way") {
  for (KvType type : kTypes) CHECK(parse_kv_type(lanner::kernels::name(type)) == type);
  CHECK_FALSE(parse_kv_type("q5").has_value());
  CHECK_FALSE(parse_kv_type("").has_value());
}
