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

constexpr float edited_logit(const LogitEdit& edit, float logit) {
  if (edit.banned != 0) return -std::numeric_limits<float>::infinity();
  logit += edit.bias;
  logit = logit < 0 ? logit * edit.repetition : logit / edit.repetition;
  logit -= edit.presence;
  logit -= edit.frequency;
  return logit - edit.dry;
}

}  // namespace lanner::kernels
