// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "core/cpu_features.h"

namespace lanner::test {

/// One version of a kernel.
template <typename Function>
struct Variant {
  Isa isa;
  Function* run;
  std::string_view name() const { return lanner::name(isa); }
};

/// The versions that this machine can run.
template <typename Function>
std::vector<Variant<Function>> supported(std::vector<Variant<Function>> variants) {
  std::erase_if(variants, [](const Variant<Function>& variant) { return !cpu_supports(variant.isa); });
  return variants;
}

}  // namespace lanner::test

/// LANNER_VARIANTS(RmsNormFn, rms_norm): the supported versions of a kernel that has one for each instruction
/// set, the reference first.
#if defined(__x86_64__)
#define LANNER_VARIANTS(Function, kernel)                                            \
  lanner::test::supported<Function>({{lanner::Isa::kReference, &kernel##_reference}, \
                                     {lanner::Isa::kAvx2, &kernel##_avx2},           \
                                     {lanner::Isa::kAvx512, &kernel##_avx512}})
#elif defined(__aarch64__)
#define LANNER_VARIANTS(Function, kernel) \
  lanner::test::supported<Function>(      \
      {{lanner::Isa::kReference, &kernel##_reference}, {lanner::Isa::kNeon, &kernel##_neon}})
#else
#define LANNER_VARIANTS(Function, kernel) \
  lanner::test::supported<Function>({{lanner::Isa::kReference, &kernel##_reference}})
#endif
