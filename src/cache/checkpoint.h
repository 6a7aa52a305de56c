// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/sequence_cache.h"

namespace lanner::cache {

/// Why a snapshot was taken, in the order in which classes are given up when bytes are short.
enum class CheckpointClass : std::uint8_t {
  kEnd,       ///< end of a generation
  kInterval,  ///< every so many tokens of a long prompt
  kBranch,    ///< where prompts were seen to part
  kUser,      ///< end of the last user or tool turn, before the assistant's header
  kSystem,    ///< end of the system text and tools
};

inline constexpr std::size_t kCheckpointClasses = 5;

/// A snapshot in the prefix store.
struct Checkpoint {
  SequenceCache cache;
  CheckpointClass kind = CheckpointClass::kEnd;
  std::uint64_t last_used = 0;  ///< the store's clock
};

}  // namespace lanner::cache
