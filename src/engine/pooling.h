// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/checkpoint.h"

namespace lanner::engine {

/// How the final hidden states of a text become its embedding.
enum class Pooling : std::uint8_t {
  kLast,  ///< the last token's
  kMean,  ///< the mean over all tokens
};

/// What the checkpoint says of itself: 1_Pooling/config.json, as sentence-transformers writes it; none when
/// the file is absent. Throws Error kUnsupported for other modes, naming them, and kCorrupt.
std::optional<Pooling> declared_pooling(const io::Checkpoint& checkpoint);

/// Pools the rows of one prompt as they are computed. Rows may come in pieces of any size, and again after
/// their caches were lost: sums are formed in the order of the tokens, so the result has the same bits.
class PooledHidden {
 public:
  PooledHidden(Pooling pooling, std::size_t prompt_tokens)
      : pooling_(pooling), prompt_tokens_(prompt_tokens) {}

  /// Whether the row of token `index` is still needed.
  bool wants(std::size_t index) const;
  /// The final norm's output [H] for token `index`, which is wanted; indices ascend.
  void add(std::size_t index, std::span<const float> hidden);
  /// The embedding [H], not normalised; empty until the last token was added.
  std::vector<float> result() const;

 private:
  Pooling pooling_;
  std::size_t prompt_tokens_;
  std::size_t next_ = 0;  ///< tokens before were added
  std::vector<double> sum_;
};

/// The first `dimensions` values of a vector (all when 0), scaled to length 1; zeros stay zeros.
std::vector<float> unit_vector(std::span<const float> values, std::size_t dimensions);

}  // namespace lanner::engine
