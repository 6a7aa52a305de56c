// SPDX-License-Identifier: MIT
#include "quantize/row_encoder.h"

#include "quantize/affine_group.h"
#include "quantize/float_elements.h"
#include "quantize/fp_codes.h"
#include "quantize/pack_codes.h"

namespace lanner::quantize {

void RowEncoder::encode(const EncodedRow& out, std::span<const float> row) {
  codes_.resize(row.size());
  const auto group = static_cast<std::size_t>(format_.group);
  for (std::size_t g = 0; g < row.size() / group; ++g) {
    const std::span<std::uint8_t> codes(&codes_[g * group], group);
    const std::span<const float> w = row.subspan(g * group, group);
    if (format_.mode == QuantMode::kAffine) {
      const AffineGroup affine = quantize_affine_group(codes, w, format_.bits);
      store_float(out.scales.data(), g, affine.scale, scale_dtype_);
      store_float(out.biases.data(), g, affine.bias, scale_dtype_);
    } else {
      out.scales[g] = quantize_fp_group(codes, w, format_.mode);
    }
  }
  pack_codes(out.codes, codes_, format_.bits);
}

}  // namespace lanner::quantize
