// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "cache/sequence_cache.h"
#include "core/arena.h"
#include "core/token.h"
#include "device/stream.h"

namespace lanner::cache {

/// One full, one sliding, one shared and one recurrent layer, with tiny heads.
CacheSpec toy_spec();

/// Drives a cache as a forward would, with rows that are a function of their token, so that what a cache
/// holds after any history can be compared with a cache that saw the same tokens and nothing else.
class ToyForward {
 public:
  ToyForward();

  /// Appends the tokens' rows in every layer.
  void append(SequenceCache& cache, std::span<const TokenId> ids);
  /// What the next row would read: attention of a fixed query over each kind of layer, the delta state and
  /// the convolution's history.
  std::vector<float> probe(SequenceCache& cache);
  /// probe() of a new cache that was given `ids` one by one.
  std::vector<float> probe_alone(std::span<const TokenId> ids);

 private:
  Tensor rows(std::span<const TokenId> ids, const Shape& shape, std::uint64_t salt);

  device::Ops ops_;
  device::Stream stream_;
  Arena arena_;
};

}  // namespace lanner::cache
