// SPDX-License-Identifier: MIT
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "core/cpu_features.h"
#include "ramp.h"

namespace lanner::bench {

/// Registers body(state, kernel) as "name/isa" when this machine has the instruction set.
template <typename Function, typename Body>
benchmark::internal::Benchmark* add(const std::string& name, Isa isa, Function* kernel, Body body) {
  const std::string full = name + "/" + std::string(lanner::name(isa));
  auto* registered = benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
    if (!cpu_supports(isa)) {
      state.SkipWithError("this CPU lacks the instruction set");
      return;
    }
    body(state, kernel);
  });
  return registered->Unit(benchmark::kMicrosecond);
}

}  // namespace lanner::bench

/// LANNER_BENCH_ISAS(rms_norm, body): registers every SIMD version of a kernel built for this architecture.
#if defined(__x86_64__)
#define LANNER_BENCH_ISAS(name, kernel, body)                                          \
  lanner::bench::add(name, lanner::Isa::kAvx2, &lanner::kernels::kernel##_avx2, body), \
      lanner::bench::add(name, lanner::Isa::kAvx512, &lanner::kernels::kernel##_avx512, body)
#else
#define LANNER_BENCH_ISAS(name, kernel, body) \
  lanner::bench::add(name, lanner::Isa::kNeon, &lanner::kernels::kernel##_neon, body)
#endif
