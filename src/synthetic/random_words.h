// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lanner::synthetic {

/// An endless string of random words named by a seed and a text: the same names give the same words on every
/// machine. Source: Steele et al. 2014, SplitMix64; a few operations a word, so that writing a model is bound
/// by the disk.
class RandomWords {
 public:
  RandomWords(std::uint64_t seed, std::string_view name);

  std::uint64_t next();
  /// Uniform in [low, high).
  float next_float(float low, float high);
  void fill(std::span<std::uint64_t> words);

 private:
  std::uint64_t state_;
};

}  // namespace lanner::synthetic
