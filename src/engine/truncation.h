// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "engine/survivors.h"

/// Steps that remove unlikely (or, xtc, likely) tokens. Each keeps at least one. p of a token is
/// exp(value - log_total).
namespace lanner::engine {

void keep_top_k(Survivors& survivors, std::size_t count);
/// The shortest prefix, likeliest first, whose mass is at least `mass`.
void keep_top_p(Survivors& survivors, float mass, double log_total);
/// How far below the likeliest a log-probability may lie for keep_min_p(), as a negative number.
float min_p_log(float fraction);
/// Tokens at least `fraction` times as likely as the likeliest.
void keep_min_p(Survivors& survivors, float fraction);
/// The tokens whose surprise is nearest to the entropy, until their mass exceeds `mass`. Source: Meister et
/// al., "Locally typical sampling", 2022.
void keep_typical(Survivors& survivors, float mass);
/// Values at least max - n standard deviations of all values.
void keep_top_n_sigma(Survivors& survivors, float n);

/// What xtc does at one position.
struct XtcStep {
  float threshold = 0;
  double uniform = 0;  ///< one random number per position
  float probability = 0;
  bool inclusive = false;                ///< a token just at the threshold counts (llama.cpp)
  std::span<const TokenId> exempt = {};  ///< never removed
};
/// When active, removes all tokens above the threshold but the least probable of them, if there are two or
/// more.
void exclude_top_choices(Survivors& survivors, const XtcStep& step, double log_total);

/// The temperature for the entropy of the survivors at temperature 1, in [low, high].
float dynamic_temperature(Survivors& survivors, float low, float high, float exponent);

}  // namespace lanner::engine
