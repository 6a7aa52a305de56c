// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/linear/linear.h"
#include "kernels/linear/linear_isa.h"

namespace lanner::kernels {
namespace {

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

bool is_known(const WeightSpec& spec) {
  switch (spec.format) {
    case WeightFormat::kDense:
      return is_float(spec.dtype);
    case WeightFormat::kAffine:
      return is_float(spec.dtype) && spec.bits >= 2 && spec.bits <= 8 && spec.bits != 7 &&
             (spec.group == 32 || spec.group == 64 || spec.group == 128);
    case WeightFormat::kMxfp4:
      return spec.bits == 4 && spec.group == 32;
    case WeightFormat::kMxfp8:
      return spec.bits == 8 && spec.group == 32;
    case WeightFormat::kNvfp4:
      return spec.bits == 4 && spec.group == 16;
  }
  return false;
}

}  // namespace

std::size_t linear_scratch_floats(std::size_t columns) { return std::max(columns, kLinearScratchFloats); }

std::optional<LinearKernels> find_linear_kernels(const WeightSpec& spec, [[maybe_unused]] Isa isa) {
  if (!is_known(spec)) return std::nullopt;
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return linear_kernels_avx512(spec);
  if (isa == Isa::kAvx2) return linear_kernels_avx2(spec);
#endif
  return linear_kernels_reference(spec);
}

}  // namespace lanner::kernels
