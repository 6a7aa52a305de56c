// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/token.h"

namespace lanner::engine {

/// One step of choosing a token; see SamplingOptions.
enum class SamplerStep : std::uint8_t {
  kTopNSigma,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
  kTopK,
  kTemperature,
};

/// Whose habits decide the order of steps and what penalties count.
enum class SamplerProfile : std::uint8_t {
  kMlx,    ///< mlx-lm: top_n_sigma, typical_p, top_p, min_p, xtc, top_k see temperature 1, then temperature
  kLlama,  ///< llama.cpp: top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature
  kHf,     ///< Transformers: temperature, top_k, top_p, min_p; presence and frequency count generated tokens
};

/// "Don't repeat yourself": lowers tokens that would go on with a repetition, more the longer it is.
/// Source: llama.cpp's dry sampler.
struct DryOptions {
  float multiplier = 0;  ///< 0 = off
  float base = 1.75F;
  std::size_t allowed_length = 2;
  std::size_t window = 64;  ///< last tokens looked at; 0 = all
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};
};

/// Excludes top choices: with some chance, drops all probable tokens but the least probable of them.
struct XtcOptions {
  float probability = 0;  ///< 0 = off
  float threshold = 0.1F;
};

/// Temperature that follows the entropy: from temperature - range to temperature + range.
struct DynamicTemperature {
  float range = 0;  ///< 0 = off
  float exponent = 1;
};

/// Keeps the surprise of the text near a target. Source: Basu et al., "Mirostat", 2021.
struct MirostatOptions {
  int version = 0;  ///< 1 or 2; 0 = off
  float target = 5;
  float rate = 0.1F;
};

/// Prefers tokens near a probability. Source: llama.cpp's adaptive-p sampler.
struct AdaptiveOptions {
  float target = -1;  ///< below 0 = off
  float decay = 0.9F;
};

/// A tone curve over log-probabilities: linear near a pivot, logarithmic shoulder and toe.
struct HlgOptions {
  enum class Pivot : std::uint8_t { kTop, kEntropy, kMedian };

  bool enabled = false;
  float gain = 0;  ///< 0 = 1 / temperature
  float width = 4;
  float shoulder = 4;  ///< 0 or less = linear there
  float toe = 6;       ///< the same
  Pivot pivot = Pivot::kTop;
  float pivot_offset = 6;  ///< nats below the pivot
};

/// How the next token is chosen from its logits. The neutral value of each field switches it off.
struct SamplingOptions {
  float temperature = 1;  ///< 0 = greedy
  std::size_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::size_t penalty_window =
      20;  ///< tokens that count for the repetition penalty, prompt included; 0 = all
  std::map<TokenId, float> logit_bias = {};
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;           ///< which of several continuations with one seed
  std::size_t presence_window = 20;   ///< the same for the presence penalty
  std::size_t frequency_window = 20;  ///< the same for the frequency penalty
  float typical_p = 1;
  float top_n_sigma = 0;
  XtcOptions xtc = {};
  DryOptions dry = {};
  DynamicTemperature dynamic_temperature = {};
  /// Temperature by number of generated tokens, ascending, linear between; empty = `temperature` throughout.
  std::vector<std::pair<std::size_t, float>> temperature_points = {};
  MirostatOptions mirostat = {};
  AdaptiveOptions adaptive = {};
  HlgOptions hlg = {};
  /// A monotone curve over probabilities in percent, two or more points; empty = none.
  std::vector<std::pair<float, float>> curve = {};
  SamplerProfile profile = SamplerProfile::kMlx;
  std::vector<SamplerStep> steps = {};  ///< in this order instead of the profile's; empty = the profile's
};

}  // namespace lanner::engine
