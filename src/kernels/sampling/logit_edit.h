// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

namespace lanner::kernels {

/// What is done to the logit of one token before it is looked at: bias, ban, penalties, in this order. The
/// values that a new edit has change nothing.
struct LogitEdit {
  std::int32_t id = 0;
  float bias = 0;        ///< added
  float repetition = 1;  ///< divides what is not negative, multiplies what is
  float presence = 0;    ///< subtracted, one after the other
  float frequency = 0;
  float dry = 0;
  std::int32_t banned = 0;  ///< not 0: never chosen
};

/// Edits go no further: beyond the largest float one of them could undo another's infinity.
constexpr float held_logit(float logit) {
  constexpr float kMost = 1e30F;
  return logit > kMost ? kMost : logit < -kMost ? -kMost : logit;
}

/// -infinity stays, as does a bias of -infinity.
constexpr float edited_logit(const LogitEdit& edit, float logit) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  if (edit.banned != 0 || logit == kNever || edit.bias == kNever) return kNever;
  logit = held_logit(logit + edit.bias);
  logit = held_logit(logit < 0 ? logit * edit.repetition : logit / edit.repetition);
  logit = held_logit(logit - edit.presence);
  logit = held_logit(logit - edit.frequency);
  return held_logit(logit - edit.dry);
}

}  // namespace lanner::kernels
