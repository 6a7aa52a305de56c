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

// Streams of random words at one position.
constexpr std::uint32_t kDrawStream = 0;
constexpr std::uint32_t kXtcStream = 1;

constexpr std::array kMlxSteps = {SamplerStep::kTopNSigma,  SamplerStep::kTypicalP, SamplerStep::kTopP,
                                  SamplerStep::kMinP,       SamplerStep::kXtc,      SamplerStep::kTopK,
                                  SamplerStep::kTemperature};
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
  return kMlxSteps;
}

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
    const double b = double(survivors.value(ranked[i])) - double(survivors.value(ranked[i + 1]));
    products += t * b;
    squares += t * t;
  }
  return squares > 0 ? products / squares : 1;
}

}  // namespace

void require_finite(std::span<const float> values) {
  for (float value : values)
    if (!std::isfinite(value)) throw NotFinite();
}

void refuse_nothing_left() {
  throw Error(ErrorKind::kInvalidArgument,
              "no token is left to choose: every one is banned, or not what the answer must look like");
}

TokenId argmax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) throw NotFinite();
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<TokenId>(best);
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

void Sampler::adjust(std::span<float> logits, const History& history, std::span<const TokenId> banned) const {
  for (float z : logits)
    if (!(z < -kNever)) throw NotFinite();
  if (limits_.vocabulary < logits.size()) std::ranges::fill(logits.subspan(limits_.vocabulary), kNever);
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
  if (temperature == 0) return std::nullopt;
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
  adjust(logits, {.tokens = history});
  return choose_from(logits, {.position = position, .generated = 0});
}

TokenId Sampler::pick(std::span<float> logits, const History& history) {
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

TokenId Sampler::choose_from(std::span<float> logits, const Place& place) {
  const TokenId likeliest = argmax(logits);
  if (logits[static_cast<std::size_t>(likeliest)] == kNever) refuse_nothing_left();
  float temperature = temperature_at(place.generated);
  if (!options_.curve.empty()) {
    Survivors survivors(logits);
    const double total = survivors.log_total();
    const ProbabilityCurve curve(options_.curve);
    survivors.transform([&](float z) { return curve(static_cast<float>(double(z) - total)); });
    return draw(logits, 1, place.position);
  }
  if (temperature == 0) return likeliest;
  if (!truncates(options_)) return draw(logits, temperature, place.position);
  Survivors survivors(logits);
  if (options_.hlg.enabled) {
    apply_hlg(survivors, options_.hlg, temperature);
    return draw(logits, 1, place.position);
  }
  // The values are log-probabilities at first, so that mass is read off them.
  const double total = survivors.log_total();
  survivors.transform([&](float z) { return static_cast<float>(double(z) - total); });
  if (options_.mirostat.version != 0) {
    survivors.transform([&](float l) { return l / temperature; });
    return draw_mirostat(survivors, place);
  }
  for (const SamplerStep step : steps_of(options_)) run_step(step, survivors, place, temperature);
  if (options_.adaptive.target >= 0) return draw_adaptive(survivors, place);
  return draw(logits, temperature, place.position);
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
      if (now <= 0) {
        survivors.keep_likeliest(1);
        now = 1;
      }
      // Where steps follow, they see it; else the draw divides, in double.
      if (options_.profile == SamplerProfile::kMlx && options_.steps.empty()) {
        temperature = now;
      } else {
        survivors.transform([&](float v) { return v / now; });
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
    const auto vocabulary = static_cast<double>(survivors.values().size());
    const double k =
        std::pow(excess * std::pow(2, mirostat_mu_) / (1 - std::pow(vocabulary, -excess)), 1 / s);
    survivors.keep_likeliest(std::isfinite(k) && k >= 1 ? static_cast<std::size_t>(std::min(k, vocabulary))
                                                        : std::size_t{1});
  } else {
    const TokenId top = survivors.top();
    survivors.remove([&](TokenId id) {
      return id != top && -(double(survivors.value(id)) - total) / bits > mirostat_mu_;
    });
  }
  const TokenId chosen = draw(survivors.values(), 1, place.position);
  const double surprise = -(double(survivors.value(chosen)) - survivors.log_total()) / bits;
  mirostat_mu_ -= double(options.rate) * (surprise - double(options.target));
  return chosen;
}

TokenId Sampler::draw_adaptive(Survivors& survivors, const Place& place) {
  const double total = survivors.log_total();
  const double target = double(options_.adaptive.target);
  const double wanted = std::clamp(2 * target - adaptive_sum_ / adaptive_weight_, 0.0, 1.0);
  std::vector<float> adapted(survivors.values().begin(), survivors.values().end());
  for (TokenId id : survivors.ids()) {
    constexpr double kWidth = 0.3;
    constexpr double kPeak = 5;
    constexpr double kSharpness = 10;
    const double d = std::abs(std::exp(double(survivors.value(id)) - total) - wanted) / kWidth;
    adapted[static_cast<std::size_t>(id)] = static_cast<float>(kPeak - kSharpness * d * d / (1 + d));
  }
  const TokenId chosen = draw(adapted, 1, place.position);
  const double decay = double(options_.adaptive.decay);
  adaptive_sum_ = decay * adaptive_sum_ + std::exp(double(survivors.value(chosen)) - total);
  adaptive_weight_ = decay * adaptive_weight_ + 1;
  return chosen;
}

TokenId Sampler::draw(std::span<const float> values, float temperature, std::size_t position) const {
  // Four tokens share one block of random words; the block depends on nothing but seed, position and token.
  const auto words = [&](std::size_t block) {
    return philox4x32(options_.seed, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(position),
                                      kDrawStream, options_.choice});
  };
  const auto scaled = [&](std::size_t i) { return double(values[i]) / double(temperature); };
  // The likeliest first: what can then not win needs no logarithms. Its noise exceeds a bar only when u is
  // below exp(-bar), as -ln(1 - u) >= u; the bar is taken a little low for the rounding of exp.
  auto best = static_cast<std::size_t>(argmax(values));
  double best_value = scaled(best) + gumbel_noise(words(best / 4)[best % 4]);
  constexpr double kMostNoise = 23;  // -ln of the least u
  constexpr double kMargin = 1 + 1e-9;
  for (std::size_t block = 0; block * 4 < values.size(); ++block) {
    std::array<std::uint32_t, 4> random{};
    bool drawn = false;
    for (std::size_t i = block * 4; i < std::min(block * 4 + 4, values.size()); ++i) {
      if (values[i] == kNever || scaled(i) + kMostNoise < best_value || i == best) continue;
      if (!drawn) random = words(block);
      drawn = true;
      if (open_uniform(random[i % 4]) > std::exp(scaled(i) - best_value) * kMargin) continue;
      const double value = scaled(i) + gumbel_noise(random[i % 4]);
      if (value < best_value || (value == best_value && i > best)) continue;
      best = i;
      best_value = value;
    }
  }
  return static_cast<TokenId>(best);
}

}  // namespace lanner::engine
