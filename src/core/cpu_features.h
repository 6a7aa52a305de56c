// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lanner {

/// Instruction sets that kernels are written for, weakest first within an architecture.
enum class Isa { kReference, kAvx2, kAvx512, kNeon };

/// "reference", "avx2", "avx512", "neon".
std::string_view name(Isa isa);
std::optional<Isa> parse_isa(std::string_view text);

/// True when this CPU and operating system can run the instruction set.
bool cpu_supports(Isa isa);

/// True when AVX-512 comes with the int8 dot product (VNNI).
bool cpu_supports_vnni();
/// True when AVX-512 comes with products of bfloat16.
bool cpu_supports_bf16();

/// The strongest supported instruction set.
Isa detect_isa();

/// Every supported instruction set, kReference first.
std::vector<Isa> supported_isas();

}  // namespace lanner
