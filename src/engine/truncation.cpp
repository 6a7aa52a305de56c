// SPDX-License-Identifier: MIT
#include "engine/truncation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/portable_math.h"

namespace lanner::engine {
namespace {

struct Surprise {
  TokenId id;
  double probability;
  double distance;  ///< of the token's surprise from the entropy
};

double entropy(Survivors& survivors, double log_total) {
  double sum = 0;
  for (const Candidate& candidate : survivors.all()) {
    const double l = double(candidate.value) - log_total;
    sum -= std::exp(l) * l;
  }
  return sum;
}

}  // namespace

void keep_top_k(Survivors& survivors, std::size_t count) {
  if (count > 0) survivors.keep_likeliest(count);
}

void keep_top_p(Survivors& survivors, float mass, double log_total) {
  // 0 keeps the likeliest; callers that mean "off" do not call.
  constexpr std::size_t kFirstLook = 64;
  const std::uint64_t target = mass_target(mass);
  std::uint64_t sum = 0;
  std::size_t taken = 0;
  for (std::size_t looked = kFirstLook;; looked *= 8) {
    const auto ranked = survivors.likeliest(looked);
    while (taken < ranked.size() && (taken == 0 || sum < target))
      sum += integer_mass(double(ranked[taken++].value) - log_total);
    if (sum >= target || ranked.size() < looked) break;
  }
  survivors.keep_likeliest(taken);
}

float min_p_log(float fraction) { return std::log(std::min(fraction, 1.0F)); }

void keep_min_p(Survivors& survivors, float fraction) {
  if (fraction <= 0) return;
  survivors.keep_at_least(double(survivors.top().value + min_p_log(fraction)));
}

void keep_typical(Survivors& survivors, float mass) {
  if (mass >= 1) return;
  const double total = survivors.log_total();
  const double expected = entropy(survivors, total);
  std::vector<Surprise> order;
  for (const Candidate& candidate : survivors.all()) {
    const double l = double(candidate.value) - total;
    order.push_back({candidate.id, std::exp(l), std::abs(-l - expected)});
  }
  std::ranges::sort(order, [](const Surprise& a, const Surprise& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
  double sum = 0;
  std::size_t kept = 0;
  while (kept < order.size() && (kept == 0 || sum <= double(mass))) sum += order[kept++].probability;
  std::vector<TokenId> typical;
  for (std::size_t i = 0; i < kept; ++i) typical.push_back(order[i].id);
  std::ranges::sort(typical);
  survivors.remove(
      [&](const Candidate& candidate) { return !std::ranges::binary_search(typical, candidate.id); });
}

void keep_top_n_sigma(Survivors& survivors, float n) {
  if (n <= 0) return;
  const auto all = survivors.all();
  double sum = 0;
  for (const Candidate& candidate : all) sum += double(candidate.value);
  const double mean = sum / double(all.size());
  double squares = 0;
  for (const Candidate& candidate : all) squares += std::pow(double(candidate.value) - mean, 2);
  const double sigma = std::sqrt(squares / double(all.size()));
  survivors.keep_at_least(double(survivors.top().value) - double(n) * sigma);
}

void exclude_top_choices(Survivors& survivors, const XtcStep& step, double log_total) {
  if (step.probability <= 0 || step.threshold > 0.5F || step.uniform > double(step.probability)) return;
  const auto is_top = [&](const Candidate& candidate) {
    const double p = std::exp(double(candidate.value) - log_total);
    return step.inclusive ? p >= double(step.threshold) : p > double(step.threshold);
  };
  std::size_t tops = 0;
  const auto ranked = survivors.likeliest(survivors.all().size());
  while (tops < ranked.size() && is_top(ranked[tops])) ++tops;
  if (tops < 2) return;
  std::vector<TokenId> removed;
  for (const Candidate& candidate : ranked.first(tops - 1))
    if (std::ranges::find(step.exempt, candidate.id) == step.exempt.end()) removed.push_back(candidate.id);
  survivors.remove(
      [&](const Candidate& candidate) { return std::ranges::find(removed, candidate.id) != removed.end(); });
}

float dynamic_temperature(Survivors& survivors, float low, float high, float exponent) {
  const std::size_t count = survivors.all().size();
  if (count < 2) return high;
  const double normal = entropy(survivors, survivors.log_total()) / std::log(double(count));
  const double share = std::pow(std::clamp(normal, 0.0, 1.0), double(exponent));
  return low + (high - low) * static_cast<float>(share);
}

}  // namespace lanner::engine
