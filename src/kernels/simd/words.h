// SPDX-License-Identifier: MIT
#pragma once

// Integers of 32 bits and pairs of 16 beside the floats of vec.h, and what multiplies pairs.

#if defined(__AVX512F__)
#include "kernels/simd/words.avx512.h"
#elif defined(__AVX2__)
#include "kernels/simd/words.avx2.h"
#elif defined(__ARM_NEON)
#include "kernels/simd/words.neon.h"
#else
#error "compile this file through lanner_isa_sources()"
#endif
