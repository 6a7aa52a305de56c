// SPDX-License-Identifier: MIT
#include "isa_bench.h"
#include "kernels/norm/rms_norm.h"

using namespace lanner::bench;

namespace {

constexpr std::size_t kRows = 64;
constexpr std::size_t kDim = 2560;

void rms_norm(benchmark::State& state, lanner::kernels::RmsNormFn* kernel) {
  const auto x = ramp(kRows * kDim);
  const auto w = ramp(kDim);
  std::vector<float> out(x.size());
  for (auto _ : state) kernel(out, x, w, 1e-6F);
  state.SetBytesProcessed(state.iterations() * std::int64_t(2 * x.size() * sizeof(float)));
}

[[maybe_unused]] const auto registered = {LANNER_BENCH_ISAS("rms_norm/64x2560", rms_norm, rms_norm)};

}  // namespace
