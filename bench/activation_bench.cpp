// SPDX-License-Identifier: MIT
#include "isa_bench.h"
#include "kernels/activation/elementwise.h"

using namespace lanner::bench;

namespace {

constexpr std::size_t kCount = 9216;

void gated(benchmark::State& state, lanner::kernels::SiluMulFn* kernel) {
  const auto gate = ramp(kCount);
  const auto up = ramp(kCount);
  std::vector<float> out(kCount);
  for (auto _ : state) {
    kernel(out, gate, up);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t(kCount));
}

[[maybe_unused]] const auto registered = {LANNER_BENCH_ISAS("silu_mul/9216", silu_mul, gated),
                                          LANNER_BENCH_ISAS("gelu_mul/9216", gelu_mul, gated)};

}  // namespace
