// SPDX-License-Identifier: MIT
#include "layers/lora.h"

namespace lanner::layers {

LoraSet::LoraSet(std::vector<LoraUse> uses) : uses_(std::move(uses)) {
  const std::size_t targets = uses_.front().weights->size();
  for (std::size_t target = 0; target < targets; ++target) {
    begin_.push_back(parts_.size());
    for (const LoraUse& use : uses_)
      if (const std::optional<LoraFactors>& factors = (*use.weights)[target])
        parts_.push_back({&factors->a, &factors->b, factors->scale * use.strength});
  }
  begin_.push_back(parts_.size());
}

}  // namespace lanner::layers
