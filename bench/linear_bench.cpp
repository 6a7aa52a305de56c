// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/buffer.h"
#include "isa_bench.h"
#include "kernels/linear/int8_linear.h"

namespace lanner::bench {
namespace {

using kernels::PackedView;
using kernels::WeightFormat;
using kernels::WeightSpec;

constexpr std::size_t kColumns = 2048;

/// Random packed weights of `bits` bits in groups of 64.
PackedView packed(Buffer& memory, int bits, std::size_t outputs) {
  const WeightSpec spec{WeightFormat::kAffine, DType::kBF16, bits, 64};
  memory = Buffer(kernels::packed_bytes(spec, outputs, kColumns));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < memory.size_bytes(); i += 2) {
    state = state * 1664525U + 1013904223U;
    // Also valid as bf16 scales of modest size.
    const auto word = static_cast<std::uint16_t>(0x3C00U | (state >> 16 & 0x80FFU));
    *reinterpret_cast<std::uint16_t*>(memory.data() + i) = word;
  }
  return {.spec = spec, .rows = outputs, .columns = kColumns, .data = memory.data()};
}

/// Arguments: bits, rows, outputs. Many outputs (2^17) show the path from memory, few the one from the cache.
void int8_linear(benchmark::State& state, Isa isa) {
  const int bits = static_cast<int>(state.range(0));
  const auto rows = static_cast<std::size_t>(state.range(1));
  const auto outputs = static_cast<std::size_t>(state.range(2));
  Buffer memory;
  const PackedView w = packed(memory, bits, outputs);
  const kernels::Int8Kernels kernels = kernels::find_int8_kernels(w.spec, isa);
  const std::size_t groups = kColumns / 64;
  const std::vector<float> x = ramp(rows * kColumns);
  std::vector<std::int8_t> codes(rows * kColumns);
  std::vector<float> scales(rows * groups);
  std::vector<float> sums(rows * groups);
  std::vector<float> out(rows * outputs);
  kernels.quantize_rows(codes.data(), scales.data(), sums.data(), x.data(), rows, kColumns, 64);
  const kernels::QuantizedRows input{codes.data(), scales.data(), sums.data(), kColumns, groups};
  for (auto _ : state) {
    kernels.linear(w, input, out.data(), outputs, rows, 0, w.tiles());
    benchmark::ClobberMemory();
  }
  const double products = static_cast<double>(rows) * static_cast<double>(outputs) * kColumns;
  state.counters["ops"] = benchmark::Counter(2 * products, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes"] = benchmark::Counter(static_cast<double>(memory.size_bytes()),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void add_int8_linear(Isa isa) {
  auto* registered = benchmark::RegisterBenchmark(
      ("int8_linear/" + std::string(name(isa))).c_str(), [isa](benchmark::State& state) {
        if (!cpu_supports(isa))
          state.SkipWithError("this CPU lacks the instruction set");
        else
          int8_linear(state, isa);
      });
  registered->ArgNames({"bits", "rows", "outputs"})->Unit(benchmark::kMicrosecond);
  for (const int rows : {1, 2, 4, 8}) registered->Args({4, rows, 1 << 17});
  for (const int rows : {1, 2, 3, 4, 5, 8, 12, 16, 128}) registered->Args({4, rows, 512});
  for (const int bits : {2, 3, 5, 6, 8})
    for (const int rows : {1, 8, 128}) registered->Args({bits, rows, 512});
}

const bool kRegistered = [] {
#if defined(__x86_64__)
  add_int8_linear(Isa::kAvx2);
  add_int8_linear(Isa::kAvx512);
#endif
  return true;
}();

}  // namespace
}  // namespace lanner::bench
