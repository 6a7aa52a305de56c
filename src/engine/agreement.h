// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "device/stream.h"
#include "engine/loaded_model.h"

namespace lanner::engine {

/// How closely one way of computing a model follows another, over the predictions for a text.
struct Agreement {
  std::size_t predictions = 0;
  double total_divergence = 0;    ///< of Kullback and Leibler, reference against other, in nats
  double largest_divergence = 0;  ///< of one prediction
  std::size_t same_top = 0;       ///< predictions whose likeliest token is the same

  double mean_divergence() const { return total_divergence / static_cast<double>(predictions); }
  double top_share() const { return static_cast<double>(same_top) / static_cast<double>(predictions); }
};

/// Compares the predictions after each of `ids`, in chunks of `chunk` tokens from an empty cache. Both models
/// have the same vocabulary. `progress` is told the tokens done; it may be empty. Throws Error
/// kInvalidArgument for an empty text.
Agreement measure_agreement(const LoadedModel& reference, const LoadedModel& other, device::Stream& stream,
                            std::span<const TokenId> ids, std::size_t chunk,
                            const std::function<void(std::size_t done)>& progress);

}  // namespace lanner::engine
