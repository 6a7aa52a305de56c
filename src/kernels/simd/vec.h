// SPDX-License-Identifier: MIT
#pragma once

// One vector of floats and its operations for the instruction set that the including file is compiled for.
// Kernel bodies (*.simd.h) are written once over it and compiled once per ISA file. Everything lives in
// unnamed namespaces, so that no symbol of one instruction set can stand in for another's at link time.
// Arithmetic is the compiler's own +, -, *, / on vector types.

#if defined(__AVX512F__)
#include "kernels/simd/vec.avx512.h"
#elif defined(__AVX2__)
#include "kernels/simd/vec.avx2.h"
#elif defined(__ARM_NEON)
#include "kernels/simd/vec.neon.h"
#else
#error "compile this file through lanner_isa_sources()"
#endif
