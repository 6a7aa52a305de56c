// SPDX-License-Identifier: MIT
#include "core/tensor.h"

#include <vector>

namespace lanner {

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  assert(begin >= 0 && begin <= end && end <= shape[0]);
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  const std::size_t step_bytes = shape[0] == 0 ? 0 : size_bytes() / static_cast<std::size_t>(shape[0]);
  extents[0] = end - begin;
  return {static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * step_bytes, dtype, Shape(extents),
          device};
}

}  // namespace lanner
