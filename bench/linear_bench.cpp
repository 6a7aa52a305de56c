// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/buffer.h"
#include "isa_bench.h"
#include "kernels/linear/bf16_linear.h"
#include "kernels/linear/int8_linear.h"
#include "kernels/linear/linear.h"

namespace lanner::bench {
namespace {

using kernels::PackedView;
using kernels::WeightFormat;
using kernels::WeightSpec;

constexpr std::size_t kColumns = 2048;

/// Random packed weights.
PackedView packed(Buffer& memory, const WeightSpec& spec, std::size_t outputs) {
  memory = Buffer(kernels::packed_bytes(spec, outputs, kColumns));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < memory.size_bytes(); i += 2) {
    state = state * 1664525U + 1013904223U;
    // Also valid as scales of modest size: bf16, or two scale codes.
    const auto word = static_cast<std::uint16_t>(0x3C00U | (state >> 16 & 0x80FFU));
    *reinterpret_cast<std::uint16_t*>(memory.data() + i) = word;
  }
  return {.spec = spec, .rows = outputs, .columns = kColumns, .data = memory.data()};
}

void count(benchmark::State& state, std::size_t rows, std::size_t outputs, std::size_t bytes) {
  const double products = static_cast<double>(rows) * static_cast<double>(outputs) * kColumns;
  state.counters["ops"] = benchmark::Counter(2 * products, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes"] =
      benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kIsIterationInvariantRate);
}

/// Arguments: rows, outputs. Many outputs (2^17) show the path from memory, few the one from the cache.
void int8_linear(benchmark::State& state, const WeightSpec& spec, Isa isa) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto outputs = static_cast<std::size_t>(state.range(1));
  const auto group = static_cast<std::size_t>(spec.group);
  Buffer memory;
  const PackedView w = packed(memory, spec, outputs);
  const kernels::Int8Kernels kernels = kernels::find_int8_kernels(w.spec, isa);
  const std::size_t groups = kColumns / group;
  const std::vector<float> x = ramp(rows * kColumns);
  std::vector<std::int8_t> codes(rows * kColumns);
  std::vector<float> scales(rows * groups);
  std::vector<float> sums(rows * groups);
  std::vector<std::int32_t> offsets(rows * groups);
  std::vector<float> out(rows * outputs);
  kernels.quantize_rows({codes.data(), scales.data(), sums.data(), offsets.data()}, x.data(), rows, kColumns,
                        group);
  const kernels::QuantizedRows input{codes.data(),   scales.data(), sums.data(),
                                     offsets.data(), kColumns,      groups};
  for (auto _ : state) {
    kernels.linear(w, input, out.data(), outputs, rows, 0, w.tiles());
    benchmark::ClobberMemory();
  }
  count(state, rows, outputs, memory.size_bytes());
}

/// The same in float, from the checkpoint's own form.
void float_linear(benchmark::State& state, const WeightSpec& spec, Isa isa) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto outputs = static_cast<std::size_t>(state.range(1));
  const bool dense = spec.format == WeightFormat::kDense;
  const std::size_t weight_bytes = outputs * kColumns * static_cast<std::size_t>(spec.bits) / 8;
  const std::size_t scale_bytes =
      dense ? 0 : outputs * kColumns / static_cast<std::size_t>(spec.group) * size_bytes(spec.dtype);
  Buffer weights = Buffer(weight_bytes);
  Buffer scales = Buffer(scale_bytes + 1);
  std::memset(weights.data(), 0x3C, weights.size_bytes());
  std::memset(scales.data(), 0x3C, scales.size_bytes());
  const std::vector<float> x = ramp(rows * kColumns);
  std::vector<float> out(rows * outputs);
  std::vector<float> scratch(kernels::linear_scratch_floats(kColumns));
  const auto kernels = kernels::find_linear_kernels(spec, isa);
  for (auto _ : state) {
    kernels->linear({spec, outputs, kColumns, weights.data(), scales.data(), scales.data()},
                    {.x = x.data(),
                     .x_stride = kColumns,
                     .out = out.data(),
                     .out_stride = outputs,
                     .rows = rows,
                     .column_begin = 0,
                     .column_end = outputs,
                     .scratch = scratch.data()});
    benchmark::ClobberMemory();
  }
  count(state, rows, outputs, weight_bytes + scale_bytes);
}

/// Dense bfloat16 weights with rows rounded to it.
void bf16_linear(benchmark::State& state, const WeightSpec& spec, Isa isa) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto outputs = static_cast<std::size_t>(state.range(1));
  const kernels::Bf16Kernels kernels = kernels::find_bf16_kernels(isa);
  if (kernels.linear == nullptr) return state.SkipWithError("this CPU lacks the instruction set");
  Buffer weights = Buffer(outputs * kColumns * size_bytes(spec.dtype));
  std::memset(weights.data(), 0x3C, weights.size_bytes());
  const std::vector<float> x = ramp(rows * kColumns);
  std::vector<std::uint16_t> rounded(x.size());
  std::vector<float> out(rows * outputs);
  kernels.round(rounded.data(), x.data(), x.size());
  for (auto _ : state) {
    kernels.linear({.spec = spec, .rows = outputs, .columns = kColumns, .data = weights.data()},
                   rounded.data(), out.data(), outputs, rows);
    benchmark::ClobberMemory();
  }
  count(state, rows, outputs, weights.size_bytes());
}

using LinearBench = void(benchmark::State& state, const WeightSpec& spec, Isa isa);

benchmark::internal::Benchmark* add_linear(const std::string& name, LinearBench* body, const WeightSpec& spec,
                                           Isa isa) {
  auto* registered = benchmark::RegisterBenchmark(
      (name + "/" + std::string(lanner::name(isa))).c_str(), [=](benchmark::State& state) {
        if (!cpu_supports(isa))
          state.SkipWithError("this CPU lacks the instruction set");
        else
          body(state, spec, isa);
      });
  registered->ArgNames({"rows", "outputs"})->Unit(benchmark::kMicrosecond);
  registered->Args({1, 1 << 17});
  for (const int rows : {1, 8, 128}) registered->Args({rows, 512});
  return registered;
}

void add_linears(Isa isa) {
  const WeightSpec mxfp4{WeightFormat::kMxfp4, DType::kU8, 4, 32};
  const WeightSpec nvfp4{WeightFormat::kNvfp4, DType::kU8, 4, 16};
  for (const int bits : {4, 2, 3, 5, 6, 8}) {
    auto* registered = add_linear("int8_linear/" + std::to_string(bits) + "bit", int8_linear,
                                  {WeightFormat::kAffine, DType::kBF16, bits, 64}, isa);
    if (bits != 4) continue;
    for (const int rows : {2, 4, 8}) registered->Args({rows, 1 << 17});
    for (const int rows : {2, 3, 4, 5, 12, 16}) registered->Args({rows, 512});
  }
  add_linear("int8_linear/mxfp4", int8_linear, mxfp4, isa);
  add_linear("int8_linear/nvfp4", int8_linear, nvfp4, isa);
  add_linear("float_linear/mxfp4", float_linear, mxfp4, isa);
  add_linear("float_linear/nvfp4", float_linear, nvfp4, isa);
  const WeightSpec bf16{WeightFormat::kDense, DType::kBF16, 16, 0};
  for (auto* dense : {add_linear("float_linear/bf16", float_linear, bf16, isa),
                      add_linear("bf16_linear/bf16", bf16_linear, bf16, isa)})
    for (const int rows : {2, 4, 5, 16, 512}) dense->Args({rows, 512});
}

const bool kRegistered = [] {
#if defined(__x86_64__)
  add_linears(Isa::kAvx2);
  add_linears(Isa::kAvx512);
#endif
  return true;
}();

}  // namespace
}  // namespace lanner::bench
