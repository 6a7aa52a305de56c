// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/ops.h"

namespace lanner::layers {

/// A linear of a model that adapters may change.
struct LinearTarget {
  std::string path;  ///< "layers.3.self_attn.q_proj"
  std::size_t out = 0;
  std::size_t in = 0;
};

/// What an adapter adds to the weight of one linear: scale * b a. Source: Hu et al. 2021.
struct LoraFactors {
  device::Matrix a;  ///< [R, in]
  device::Matrix b;  ///< [out, R]
  float scale = 1;
};

/// What an adapter adds to a model: for each of its targets, in their order, the factors if it has any.
using LoraWeights = std::vector<std::optional<LoraFactors>>;

/// An adapter as rows are computed with it.
struct LoraUse {
  std::shared_ptr<const LoraWeights> weights;
  float strength = 1;  ///< multiplies the scales
};

/// Adapters that rows are computed with, in order, found by target. Immutable.
class LoraSet {
 public:
  /// All for the same model.
  explicit LoraSet(std::vector<LoraUse> uses);

  /// Of the model.
  std::size_t targets() const { return begin_.size() - 1; }
  /// What is added to one target; empty = nothing.
  std::span<const device::LowRank> parts(std::size_t target) const {
    return std::span(parts_).subspan(begin_[target], begin_[target + 1] - begin_[target]);
  }

 private:
  std::vector<LoraUse> uses_;  ///< own the matrices
  std::vector<device::LowRank> parts_;
  std::vector<std::size_t> begin_;  ///< of each target's parts; one more at the end
};

}  // namespace lanner::layers
