// SPDX-License-Identifier: MIT
#include "kernels/attention/attention_int16.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compare.h"
#include "kernels/attention_problem.h"
#include "kernels/variants.h"

using namespace lanner;
using namespace lanner::kernels;
using namespace lanner::test;

namespace {

std::vector<float> run(const AttentionProblem& problem, AttentionFn* attention, std::size_t tile,
                       std::size_t heads) {
  return problem.run(attention, tile, heads, attention_int16_scratch_floats);
}

/// The versions that this machine can run; with VNNI one more.
std::vector<Variant<AttentionFn>> versions() {
  auto all = LANNER_VARIANTS(AttentionFn, attention_int16);
#if defined(__x86_64__)
  if (cpu_supports(Isa::kAvx512) && cpu_supports_vnni()) all.push_back({Isa::kAvx512, &attention_int16_vnni});
#endif
  return all;
}

/// How each of versions() computes segments apart and adds them.
struct Parts {
  AttentionFn* segment;
  AttentionFn* merge;
};
std::vector<Parts> parts() {
  const auto segments = LANNER_VARIANTS(AttentionFn, attention_int16_segment);
  const auto merges = LANNER_VARIANTS(AttentionFn, attention_merge);
  std::vector<Parts> all;
  for (std::size_t i = 0; i < segments.size(); ++i) all.push_back({segments[i].run, merges[i].run});
#if defined(__x86_64__)
  all.push_back({&attention_int16_segment_vnni, &attention_merge_avx512});
#endif
  return all;
}

struct Case {
  AttentionShape shape;
  std::int32_t first;
  std::int32_t rows;
  std::int32_t window;
};
constexpr Case kCases[] = {
    {{4, 1, 64}, 0, 70, kFull},   {{8, 2, 256}, 63, 3, kFull},  {{2, 2, 72}, 150, 9, 40},
    {{5, 1, 128}, 190, 11, 130},  {{2, 1, 512}, 200, 1, kFull}, {{3, 1, 1}, 0, 70, kFull},
    {{6, 2, 19}, 1100, 2, kFull}, {{2, 1, 40}, 520, 5, 300},    {{4, 2, 100}, 90, 40, kFull}};

}  // namespace

TEST_CASE(
    "attention_int16: every variant matches the reference over head sizes, groups, ranges and cache types") {
  for (const Case& each : kCases)
    for (KvType type : kTypes) {
      if (each.rows > 30 && type != KvType::kBF16) continue;  // the reference is slow
      const AttentionProblem problem = causal(each.shape, type, 0, each.first, each.rows, each.window);
      const auto want = run(problem, attention_int16_reference, problem.rows(), each.shape.q_heads);
      for (const auto& variant : versions()) {
        CAPTURE(variant.name());
        CAPTURE(each.shape.head_dim);
        CAPTURE(each.first);
        CAPTURE(lanner::kernels::name(type));
        const auto got = run(problem, variant.run, problem.rows(), each.shape.q_heads);
        // Scores of up to about 5 err by a few units of 2^-24; now and then that moves a weight to the next
        // code.
        CHECK(max_scaled_error(got, want) <=
              (double(each.first + each.rows) / 2 + 64) * 0x1p-24 + 1.0 / kInt16WeightCode);
      }
    }
}

TEST_CASE("attention_int16: loses little against attention in float") {
  for (const Case& each : kCases) {
    const AttentionProblem problem = causal(each.shape, KvType::kBF16, 0, each.first, each.rows, each.window);
    const auto want = problem.run(attention_reference, problem.rows(), each.shape.q_heads);
    for (const auto& variant : versions()) {
      CAPTURE(variant.name());
      CAPTURE(each.shape.head_dim);
      const auto got = run(problem, variant.run, problem.rows(), each.shape.q_heads);
      // q and k err by half a code of the largest of their row, about 4 deviations; a score adds head_dim
      // such errors times a deviation of the other, at random, and scales them by 1/sqrt(head_dim); values
      // and weights by half a code.
      const double score = 2 * 4 * 0.5 / int16_score_code(each.shape.head_dim) * 4;
      CHECK(max_scaled_error(got, want) <= score + 2 * 0.5 / kInt16WeightCode);
    }
  }
}

TEST_CASE(
    "attention_int16: a row's bits do not depend on the rows and heads that share its call, nor on the "
    "instruction set") {
  const AttentionShape shapes[] = {{8, 2, 64}, {4, 1, 72}, {150, 1, 64}};
  for (const AttentionShape& shape : shapes)
    for (KvType type : kTypes)
      for (std::int32_t window : {kFull, 50}) {
        if (shape.q_heads > 8 && type != KvType::kBF16) continue;  // many, and the same for every type
        const AttentionProblem problem = causal(shape, type, 1, 120, 35, window);
        std::vector<float> first;
        for (const auto& variant : versions()) {
          if (variant.isa == Isa::kReference) continue;
          CAPTURE(variant.name());
          CAPTURE(shape.head_dim);
          CAPTURE(window);
          const auto alone = run(problem, variant.run, 1, 1);
          if (first.empty()) first = alone;
          CHECK(same_bits(alone, first));
          for (std::size_t tile : {std::size_t{2}, std::size_t{8}, std::size_t{19}, problem.rows()})
            for (std::size_t heads : {std::size_t{3}, shape.q_heads}) {
              CAPTURE(tile);
              CAPTURE(heads);
              CHECK(same_bits(run(problem, variant.run, tile, heads), alone));
            }
        }
      }
}

TEST_CASE("attention_int16: segments computed apart and added give the bits of one call") {
  const auto whole = versions();
  const auto split = parts();
  for (KvType type : kTypes)
    for (std::int32_t first : {511, 512, 1300})
      for (std::int32_t window : {kFull, 400}) {
        const AttentionProblem problem = causal({6, 2, 72}, type, 0, first, 3, window);
        for (std::size_t i = 0; i < whole.size(); ++i) {
          CAPTURE(whole[i].name());
          CAPTURE(first);
          CHECK(same_bits(problem.run_split(split[i].segment, split[i].merge, attention_int16_scratch_floats),
                          run(problem, whole[i].run, 3, 6)));
        }
      }
}

TEST_CASE("attention_int16: codes fill 32 bits and no more, and rows of zeros stay zeros") {
  for (std::size_t dim : {1, 2, 19, 64, 256, 512, 1024}) {
    CAPTURE(dim);
    const auto code = std::int64_t{int16_score_code(dim)};
    CHECK(code <= 32767);
    CHECK(code * code * std::int64_t(dim) <= 0x7fffffff);
    // The largest sum there is: every product of the largest codes, in each block position too.
    std::vector<float> block(2 * kKvBlock * dim, 1.0F);
    std::fill_n(block.begin(), std::ptrdiff_t(dim), 0.0F);  // the first key
    const void* keys[] = {block.data()};
    const void* values[] = {block.data() + kKvBlock * dim};
    const std::vector<float> q(dim, 1e-3F);
    const std::int32_t begin[] = {0};
    const std::int32_t end[] = {kKvBlock};
    for (const auto& variant : versions()) {
      CAPTURE(variant.name());
      std::vector<float> out(dim);
      std::vector<float> scratch(attention_int16_scratch_floats(KvType::kF32, dim));
      variant.run({.q = q.data(),
                   .out = out.data(),
                   .rows = 1,
                   .q_heads = 1,
                   .kv_heads = 1,
                   .head_dim = dim,
                   .scale = 1,
                   .kv = {.keys = keys, .values = values, .first_block = 0, .type = KvType::kF32},
                   .key_begin = begin,
                   .key_end = end,
                   .scratch = scratch.data()},
                  0, 1, 0, 1);
      for (const float x : out) CHECK(x == doctest::Approx(1).epsilon(1e-3));
    }
  }
}
