// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>

#include "isa_bench.h"
#include "kernels/attention/attention_int16.h"

using namespace lanner::bench;
using namespace lanner::kernels;

namespace {

/// Rows at the end of a context of `context` positions; 4 query heads read one kv head of 256 (Qwen 3.5 4B).
void attention(benchmark::State& state, AttentionFn* kernel) {
  constexpr std::size_t kHeads = 4;
  constexpr std::size_t kDim = 256;
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto context = static_cast<std::size_t>(state.range(1));
  const std::size_t blocks = (context + kKvBlock - 1) / kKvBlock;
  std::vector<std::uint16_t> keys(blocks * kKvBlock * kDim, 0x3c00);
  std::vector<std::uint16_t> values(blocks * kKvBlock * kDim, 0x3f00);
  std::vector<const void*> key_blocks;
  std::vector<const void*> value_blocks;
  for (std::size_t b = 0; b < blocks; ++b) {
    key_blocks.push_back(keys.data() + b * kKvBlock * kDim);
    value_blocks.push_back(values.data() + b * kKvBlock * kDim);
  }
  const auto q = ramp(rows * kHeads * kDim);
  std::vector<float> out(q.size());
  const std::vector<std::int32_t> begin(rows, 0);
  std::vector<std::int32_t> end;
  for (std::size_t row = 0; row < rows; ++row) end.push_back(std::int32_t(context - rows + row + 1));
  std::vector<float> scratch(std::max(attention_scratch_floats(KvType::kBF16, kDim),
                                      attention_int16_scratch_floats(KvType::kBF16, kDim)));
  const AttentionArgs args = {.q = q.data(),
                              .out = out.data(),
                              .rows = rows,
                              .q_heads = kHeads,
                              .kv_heads = 1,
                              .head_dim = kDim,
                              .scale = 1.0F / 16,
                              .kv = {.keys = key_blocks.data(),
                                     .values = value_blocks.data(),
                                     .first_block = 0,
                                     .type = KvType::kBF16},
                              .key_begin = begin.data(),
                              .key_end = end.data(),
                              .scratch = scratch.data()};
  for (auto _ : state) kernel(args, 0, rows, 0, kHeads);
  state.counters["GFLOP/s"] =
      benchmark::Counter(double(state.iterations()) * 4e-9 * double(rows * kHeads * kDim * context),
                         benchmark::Counter::kIsRate);
}

[[maybe_unused]] const auto registered = [] {
  for (auto* bench : {LANNER_BENCH_ISAS("attention/bf16/rows/context", attention, attention)})
    bench->Args({1, 512})->Args({1, 8192})->Args({8, 512})->Args({64, 1024});
  for (auto* bench : {LANNER_BENCH_ISAS("attention_int16/bf16/rows/context", attention_int16, attention)})
    bench->Args({1, 512})->Args({1, 8192})->Args({8, 512})->Args({64, 1024});
#if defined(__x86_64__)
  if (lanner::cpu_supports_vnni())
    add("attention_int16_vnni/bf16/rows/context", lanner::Isa::kAvx512, &attention_int16_vnni, attention)
        ->Args({1, 512})
        ->Args({1, 8192})
        ->Args({8, 512})
        ->Args({64, 1024});
#endif
  return 0;
}();

}  // namespace
