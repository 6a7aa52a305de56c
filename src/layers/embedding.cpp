// SPDX-License-Identifier: MIT
#include "layers/embedding.h"

namespace lanner::layers {

Tensor Embedding::operator()(Step& step, std::span<const TokenId> ids) const {
  const Tensor out =
      step.floats({static_cast<std::int64_t>(ids.size()), static_cast<std::int64_t>(table.columns())});
  step.ops.embed(step.stream, out, table, ids, scale);
  return out;
}

}  // namespace lanner::layers
