// SPDX-License-Identifier: MIT
#include "isa_bench.h"
#include "kernels/delta_net/delta_net.h"

using namespace lanner::bench;
using namespace lanner::kernels;

namespace {

constexpr std::size_t kKeyHeads = 16;
constexpr std::size_t kDim = 128;
constexpr std::size_t kChunk = 32;  // of cpu_ops()

/// One layer: 16 key heads, `value_heads` value heads of 128 x 128, entries of a half-full chunk.
struct Layer {
  explicit Layer(std::size_t heads)
      : value_heads(heads),
        qkv(ramp(kChunk * stride())),
        beta(kChunk * heads, 0.5F),
        log_decay(kChunk * heads, -0.05F),
        out(kChunk * heads * kDim),
        state(ramp(heads * kDim * kDim)),
        keys(ramp(kKeyHeads * kChunk * kDim)),
        values(ramp(heads * kChunk * kDim)),
        decays(heads * kChunk, -0.05F),
        scratch(delta_net_scratch_floats(kDim, kDim)) {
    for (float& x : qkv) x *= 0.1F;
    for (float& x : keys) x *= 0.1F;
  }

  std::size_t stride() const { return (2 * kKeyHeads + value_heads) * kDim; }

  DeltaNetArgs args(std::size_t rows, std::size_t first) {
    return {.q = qkv.data(),
            .k = qkv.data() + kKeyHeads * kDim,
            .v = qkv.data() + 2 * kKeyHeads * kDim,
            .qkv_stride = stride(),
            .beta = beta.data(),
            .log_decay = log_decay.data(),
            .out = out.data(),
            .rows = rows,
            .first = first,
            .key_heads = kKeyHeads,
            .value_heads = value_heads,
            .key_dim = kDim,
            .value_dim = kDim,
            .chunk = kChunk,
            .state = state.data(),
            .entry_keys = keys.data(),
            .entry_values = values.data(),
            .entry_decay = decays.data(),
            .scratch = scratch.data()};
  }

  std::size_t value_heads;
  std::vector<float> qkv, beta, log_decay, out, state, keys, values, decays, scratch;
};

void delta_net(benchmark::State& state, DeltaNetFn* kernel) {
  Layer layer(static_cast<std::size_t>(state.range(0)));
  const auto rows = static_cast<std::size_t>(state.range(1));
  const DeltaNetArgs args = layer.args(rows, rows == kChunk ? 0 : kChunk / 2);
  for (auto _ : state) kernel(args, 0, layer.value_heads);
}

void delta_fold(benchmark::State& state, DeltaFoldFn* kernel) {
  Layer layer(static_cast<std::size_t>(state.range(0)));
  std::vector<float> next(layer.state.size());
  const DeltaFoldArgs args = {.state = layer.state.data(),
                              .out = next.data(),
                              .entry_keys = layer.keys.data(),
                              .entry_values = layer.values.data(),
                              .entry_decay = layer.decays.data(),
                              .entries = kChunk,
                              .key_heads = kKeyHeads,
                              .value_heads = layer.value_heads,
                              .key_dim = kDim,
                              .value_dim = kDim,
                              .chunk = kChunk};
  for (auto _ : state) kernel(args, 0, layer.value_heads);
}

[[maybe_unused]] const auto registered = [] {
  for (auto* bench : {LANNER_BENCH_ISAS("delta_net/value_heads/rows", delta_net, delta_net)})
    bench->ArgsProduct({{16, 32}, {1, 4, kChunk}});
  for (auto* bench : {LANNER_BENCH_ISAS("delta_fold/value_heads", delta_fold, delta_fold)})
    bench->Arg(16)->Arg(32);
  return 0;
}();

}  // namespace
