// SPDX-License-Identifier: MIT
#include "core/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lanner {
#if defined(__x86_64__)
namespace {

/// clang's __builtin_cpu_supports does not know "f16c".
bool ask_cpu_for_f16c() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

/// Asked once: in a virtual machine the instruction takes some 20 us.
bool cpu_has_f16c() {
  static const bool has = ask_cpu_for_f16c();
  return has;
}

}  // namespace
#endif

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "reference";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kNeon:
      return "neon";
  }
  return "?";
}

std::optional<Isa> parse_isa(std::string_view text) {
  for (Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kNeon})
    if (name(isa) == text) return isa;
  return std::nullopt;
}

bool cpu_supports(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return true;
#if defined(__x86_64__)
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c();
    case Isa::kAvx512:
      return cpu_supports(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
    case Isa::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

bool cpu_supports_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

bool cpu_supports_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kNeon})
    if (cpu_supports(isa)) isas.push_back(isa);
  return isas;
}

Isa detect_isa() { return supported_isas().back(); }

}  // namespace lanner
