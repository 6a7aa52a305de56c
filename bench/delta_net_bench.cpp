// SPDX-License-Identifier: MIT
#include "delta_net_layer.h"
#include "isa_bench.h"

using namespace lanner::bench;
using namespace lanner::kernels;

namespace {

void delta_net(benchmark::State& state, DeltaNetFn* kernel) {
  DeltaNetLayer layer(static_cast<std::size_t>(state.range(0)));
  const auto rows = static_cast<std::size_t>(state.range(1));
  const DeltaNetArgs args = layer.args(rows, rows == kDeltaChunk ? 0 : kDeltaChunk / 2);
  for (auto _ : state) kernel(args, 0, layer.value_heads);
}

void delta_fold(benchmark::State& state, DeltaFoldFn* kernel) {
  DeltaNetLayer layer(static_cast<std::size_t>(state.range(0)));
  std::vector<float> next(layer.state.size());
  const DeltaFoldArgs args = layer.fold_args(next.data());
  for (auto _ : state) kernel(args, 0, layer.value_heads);
}

[[maybe_unused]] const auto registered = [] {
  for (auto* bench : {LANNER_BENCH_ISAS("delta_net/value_heads/rows", delta_net, delta_net)})
    bench->ArgsProduct({{16, 32}, {1, 4, kDeltaChunk}});
  for (auto* bench : {LANNER_BENCH_ISAS("delta_fold/value_heads", delta_fold, delta_fold)})
    bench->Arg(16)->Arg(32);
  return 0;
}();

}  // namespace
