// SPDX-License-Identifier: MIT
#include "attention_rows.h"
#include "isa_bench.h"

using namespace lanner::bench;
using namespace lanner::kernels;

namespace {

void attention(benchmark::State& state, AttentionFn* kernel) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto context = static_cast<std::size_t>(state.range(1));
  AttentionRows at_end(rows, context);
  const AttentionArgs args = at_end.args();
  for (auto _ : state) kernel(args, 0, rows, 0, AttentionRows::kHeads);
  state.counters["GFLOP/s"] =
      benchmark::Counter(double(state.iterations()) * 4e-9 *
                             double(rows * AttentionRows::kHeads * AttentionRows::kDim * context),
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
