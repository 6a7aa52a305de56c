// SPDX-License-Identifier: MIT
#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"
#include "core/portable_math.h"
#include "engine/tone_curve.h"
#include "engine/truncation.h"

namespace lanner::engine {
namespace {

constexpr std::uint32_t kXtcStream = 1;

constexpr std::array kMlxSteps = {SamplerStep::kTopNSigma,  SamplerStep::kTypicalP, SamplerStep::kTopP,
                                  SamplerStep::kMinP,       SamplerStep::kXtc,      SamplerStep::kTopK,
                                  SamplerStep::kTemperature};
// The same where no tokens are dropped from the front: mass and ranks do not change then, and few are ranked.
constexpr std::array kMlxStepsWithoutXtc = {SamplerStep::kTopNSigma, SamplerStep::kTypicalP,
                                            SamplerStep::kTopK,      SamplerStep::kTopP,
                                            SamplerStep::kMinP,      SamplerStep::kTemperature};
constexpr std::array kLlamaSteps = {SamplerStep::kTopNSigma,  SamplerStep::kTopK, SamplerStep::kTypicalP,
                                    SamplerStep::kTopP,       SamplerStep::kMinP, SamplerStep::kXtc,
                                    SamplerStep::kTemperature};
constexpr std::array kHfSteps = {SamplerStep::kTemperature, SamplerStep::kTopNSigma, SamplerStep::kTopK,
                                 SamplerStep::kTypicalP,    SamplerStep::kTopP,      SamplerStep::kMinP,
                                 SamplerStep::kXtc};

std::span<const SamplerStep> steps_of(const SamplingOptions& options) {
  if (!options.steps.empty()) return options.steps;
  switch (options.profile) {
    case SamplerProfile::kLlama:
      return kLlamaSteps;
    case SamplerProfile::kHf:
      return kHfSteps;
    case SamplerProfile::kMlx:
      break;
  }
  if (options.xtc.probability <= 0) return kMlxStepsWithoutXtc;
  return kMlxSteps;
}

/// Divided by less, every value may be -infinity.
bool is_greedy(float temperature) { return temperature < 1e-30F; }

bool truncates(const SamplingOptions& options) {
  return options.top_k > 0 || options.top_p < 1 || options.min_p > 0 || options.typical_p < 1 ||
         options.top_n_sigma > 0 || options.xtc.probability > 0 || options.dynamic_temperature.range > 0 ||
         options.mirostat.version != 0 || options.adaptive.target >= 0 || options.hlg.enabled ||
         !options.curve.empty() || !options.steps.empty();
}

/// The exponent for which mirostat's choices are Zipf's. Source: Basu et al., eq. 30.
double zipf_exponent(Survivors& survivors) {
  constexpr std::size_t kLook = 100;
  const auto ranked = survivors.likeliest(kLook);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i + 1 < ranked.size(); ++i) {
    const double t = std::log(double(i + 2) / double(i + 1));
    const double b = double(ranked[i].value) - double(ranked[i + 1].value);
    products += t * b;
    squares += t * t;
  }
  return squares > 0 ? products / squares : 1;
}

}  // namespace

void refuse_nothing_left() {
  throw Error(ErrorKind::kInvalidArgument,
              "no token is left to choose: every one is banned, or not what the answer must look like");
}

Sampler::Sampler(SamplingOptions options, TokenLimits limits)
    : options_(std::move(options)),
      limits_(std::move(limits)),
      mirostat_mu_(2 * double(options_.mirostat.target)) {
  if (options_.adaptive.target >= 0) {
    const double decay = double(options_.adaptive.decay);
    adaptive_weight_ = 1 / (1 - decay);
    adaptive_sum_ = double(options_.adaptive.target) * adaptive_weight_;
  }
  if (!options_.curve.empty()) ProbabilityCurve{options_.curve};  // says at once what is wrong with it
}

void Sampler::adjust(LogitBlocks& logits, const History& history, std::span<const TokenId> banned) const {
  logits.ban_from(limits_.vocabulary);
  edits(logits.size(), history, banned).apply(logits);
}

LogitEdits Sampler::edits(std::size_t columns, const History& history,
                          std::span<const TokenId> banned) const {
  LogitEdits edits(columns);
  for (const auto& [id, bias] : options_.logit_bias)
    if (edits.has(id)) edits.at(id).bias = bias;
  for (TokenId id : limits_.suppressed) edits.ban(id);
  for (TokenId id : banned) edits.ban(id);
  add_penalties(edits, options_, history);
  if (options_.dry.multiplier != 0)
    add_dry(edits, options_.dry, limits_.breakers ? *limits_.breakers : DryBreakers(), history.tokens);
  return edits;
}

bool Sampler::fits_device() const {
  return options_.typical_p >= 1 && options_.top_n_sigma <= 0 && options_.xtc.probability <= 0 &&
         options_.dynamic_temperature.range <= 0 && options_.mirostat.version == 0 &&
         options_.adaptive.target < 0 && !options_.hlg.enabled && options_.curve.empty() &&
         options_.steps.empty();
}

std::optional<device::SampleDraw> Sampler::draw_after(const History& history) const {
  const float temperature = temperature_at(history.tokens.size() - history.prompt_tokens);
  if (is_greedy(temperature)) return std::nullopt;
  device::SampleDraw draw{.truncates = truncates(options_),
                          .temperature = double(temperature),
                          .seed = options_.seed,
                          .choice = options_.choice,
                          .position = static_cast<std::uint32_t>(history.tokens.size())};
  if (!draw.truncates) return draw;
  draw.top_k = options_.top_k;
  draw.top_p = options_.top_p;
  if (options_.min_p > 0) draw.min_p_log = min_p_log(options_.min_p);
  if (options_.profile == SamplerProfile::kMlx) return draw;
  draw.top_p_of_rest = true;
  draw.temperature = 1;
  (options_.profile == SamplerProfile::kHf ? draw.stage_divisor : draw.draw_divisor) = temperature;
  return draw;
}

TokenId Sampler::choose(std::span<float> logits, std::span<const TokenId> history, std::size_t position) {
  LogitBlocks blocks(logits);
  adjust(blocks, {.tokens = history});
  return choose_from(blocks, {.position = position, .generated = 0});
}

TokenId Sampler::pick(const LogitBlocks& logits, const History& history) {
  return choose_from(logits, {.position = history.tokens.size(),
                              .generated = history.tokens.size() - history.prompt_tokens});
}

float Sampler::temperature_at(std::size_t generated) const {
  const auto& points = options_.temperature_points;
  if (points.empty()) return options_.temperature;
  const auto after = std::ranges::find_if(points, [&](const auto& point) { return point.first > generated; });
  if (after == points.begin()) return points.front().second;
  if (after == points.end()) return points.back().second;
  const auto& [x0, t0] = *(after - 1);
  const auto& [x1, t1] = *after;
  return t0 + (t1 - t0) * static_cast<float>(generated - x0) / static_cast<float>(x1 - x0);
}

TokenId Sampler::choose_from(const LogitBlocks& logits, const Place& place) {
  const TokenId likeliest = logits.top();
  if (logits.value(likeliest) == kNever) refuse_nothing_left();
  if (logits.value(likeliest) == -kNever) return likeliest;  // nothing else has a share then
  float temperature = temperature_at(place.generated);
  Survivors survivors(logits);
  if (!options_.curve.empty()) {
    const double total = survivors.log_total();
    const ProbabilityCurve curve(options_.curve);
    survivors.transform([&](float z) { return curve(static_cast<float>(double(z) - total)); });
    return draw(survivors, 1, place).id;
  }
  if (is_greedy(temperature)) return likeliest;
  if (!truncates(options_)) return draw(survivors, temperature, place).id;
  if (options_.hlg.enabled) {
    apply_hlg(survivors, options_.hlg, temperature);
    return draw(survivors, 1, place).id;
  }
  // The values are log-probabilities at first, so that mass is read off them.
  survivors.subtract(survivors.log_total());
  if (options_.mirostat.version != 0) {
    survivors.divide(temperature);
    return draw_mirostat(survivors, place);
  }
  for (const SamplerStep step : steps_of(options_)) run_step(step, survivors, place, temperature);
  if (options_.adaptive.target >= 0) return draw_adaptive(survivors, place);
  return draw(survivors, temperature, place).id;
}

void Sampler::run_step(SamplerStep step, Survivors& survivors, const Place& place, float& temperature) const {
  // mlx-lm reads mass off the log-probabilities that came in; others off the softmax of what is left.
  const auto total = [&] { return options_.profile == SamplerProfile::kMlx ? 0.0 : survivors.log_total(); };
  switch (step) {
    case SamplerStep::kTopNSigma:
      return keep_top_n_sigma(survivors, options_.top_n_sigma);
    case SamplerStep::kTypicalP:
      return keep_typical(survivors, options_.typical_p);
    case SamplerStep::kTopP:
      if (options_.top_p < 1) keep_top_p(survivors, options_.top_p, total());
      return;
    case SamplerStep::kMinP:
      return keep_min_p(survivors, options_.min_p);
    case SamplerStep::kTopK:
      return keep_top_k(survivors, options_.top_k);
    case SamplerStep::kXtc: {
      if (options_.xtc.probability <= 0) return;
      const auto words = philox4x32(
          options_.seed, {0, static_cast<std::uint32_t>(place.position), kXtcStream, options_.choice});
      return exclude_top_choices(survivors,
                                 {.threshold = options_.xtc.threshold,
                                  .uniform = open_uniform(words[0]),
                                  .probability = options_.xtc.probability,
                                  .inclusive = options_.profile == SamplerProfile::kLlama,
                                  .exempt = limits_.xtc_exempt},
                                 total());
    }
    case SamplerStep::kTemperature: {
      const float range = options_.dynamic_temperature.range;
      float now = temperature;
      if (range > 0)
        now = dynamic_temperature(survivors, std::max(0.0F, temperature - range), temperature + range,
                                  options_.dynamic_temperature.exponent);
      if (is_greedy(now)) {
        survivors.keep_likeliest(1);
        now = 1;
      }
      // Where steps follow, they see it; else the draw divides, in double.
      if (options_.profile == SamplerProfile::kMlx && options_.steps.empty()) {
        temperature = now;
      } else {
        survivors.divide(now);
        temperature = 1;
      }
      return;
    }
  }
}

TokenId Sampler::draw_mirostat(Survivors& survivors, const Place& place) {
  const MirostatOptions& options = options_.mirostat;
  const double total = survivors.log_total();
  const double bits = std::log(2.0);
  if (options.version == 1) {
    const double s = zipf_exponent(survivors);
    const double excess = s - 1;
    const auto vocabulary = static_cast<double>(survivors.logits().size());
    const double k =
        std::pow(excess * std::pow(2, mirostat_mu_) / (1 - std::pow(vocabulary, -excess)), 1 / s);
    survivors.keep_likeliest(std::isfinite(k) && k >= 1 ? static_cast<std::size_t>(std::min(k, vocabulary))
                                                        : std::size_t{1});
  } else {
    const TokenId top = survivors.top().id;
    survivors.remove([&](const Candidate& candidate) {
      return candidate.id != top && -(double(candidate.value) - total) / bits > mirostat_mu_;
    });
  }
  const Candidate chosen = draw(survivors, 1, place);
  const double surprise = -(double(chosen.value) - survivors.log_total()) / bits;
  mirostat_mu_ -= double(options.rate) * (surprise - double(options.target));
  return chosen.id;
}

TokenId Sampler::draw_adaptive(Survivors& survivors, const Place& place) {
  const double total = survivors.log_total();
  const double target = double(options_.adaptive.target);
  const double wanted = std::clamp(2 * target - adaptive_sum_ / adaptive_weight_, 0.0, 1.0);
  const auto probability = [&](float value) { return std::exp(double(value) - total); };
  Survivors adapted = survivors;
  adapted.transform([&](float value) {
    constexpr double kWidth = 0.3;
    constexpr double kPeak = 5;
    constexpr double kSharpness = 10;
    const double d = std::abs(probability(value) - wanted) / kWidth;
    return static_cast<float>(kPeak - kSharpness * d * d / (1 + d));
  });
  const TokenId chosen = draw(adapted, 1, place).id;
  const double decay = double(options_.adaptive.decay);
  const auto was = std::ranges::find(survivors.all(), chosen, &Candidate::id);
  adaptive_sum_ = decay * adaptive_sum_ + probability(was->value);
  adaptive_weight_ = decay * adaptive_weight_ + 1;
  return chosen;
}

Candidate Sampler::draw(Survivors& survivors, float temperature, const Place& place) const {
  return engine::draw(survivors, double(temperature),
                      {.seed = options_.seed,
                       .position = static_cast<std::uint32_t>(place.position),
                       .choice = options_.choice});
}

}  // namespace lanner::engine
