// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace lanner::engine {

/// How much one engine does at once. None of this changes a result.
struct EngineOptions {
  int threads = 1;                                   ///< of each forward
  std::size_t max_sequences = 8;                     ///< running at once
  std::size_t max_step_tokens = 512;                 ///< rows of one forward
  std::size_t prefill_chunk = 512;                   ///< prompt rows of one sequence in one forward
  std::size_t max_queue = 256;                       ///< waiting requests
  std::chrono::milliseconds inter_token_budget{50};  ///< prompts yield to keep steps under it; 0 = never
  /// For which a step may wait for what grammars allow; rows whose masks take longer are decided later.
  std::chrono::milliseconds mask_deadline{2};
  std::optional<std::size_t> cache_bytes = {};  ///< for all sequences; none = what the machine has left
  std::optional<std::size_t> prefix_bytes =
      {};                                  ///< of it, at most, for prefixes of ended requests; none = half
  std::size_t checkpoint_interval = 8192;  ///< tokens of a long prompt between two points of reuse
  std::optional<std::size_t> headroom_tokens = 1024;  ///< memory reserved ahead; none = for the whole answer
  std::size_t event_capacity = 256;                   ///< unread events after which a request's choices pause
  /// Between attempts to load the model again after the device was lost; doubled each time, up to a minute.
  std::chrono::milliseconds reload_delay{1000};
  /// Tokens are chosen where the logits are; not set: on the host, to the same tokens.
  bool choose_on_device = true;
};

}  // namespace lanner::engine
