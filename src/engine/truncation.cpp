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

double entropy(const Survivors& survivors, double log_total) {
  double sum = 0;
  for (TokenId id : survivors.ids()) {
    const double l = double(survivors.value(id)) - log_total;
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
      sum += integer_mass(double(survivors.value(ranked[taken++])) - log_total);
    if (sum >= target || ranked.size() == survivors.size()) break;
  }
  survivors.keep_likeliest(taken);
}

float min_p_log(float fraction) { return std::log(std::min(fraction, 1.0F)); }

void keep_min_p(Survivors& survivors, float fraction) {
  if (fraction <= 0) return;
  const float floor = survivors.value(survivors.top()) + min_p_log(fraction);
  survivors.remove([&](TokenId id) { return survivors.value(id) < floor; });
}

void keep_typical(Survivors& survivors, float mass) {
  if (mass >= 1) return;
  const double total = survivors.log_total();
  const double expected = entropy(survivors, total);
  std::vector<Surprise> order;
  for (TokenId id : survivors.ids()) {
    const double l = double(survivors.value(id)) - total;
    order.push_back({id, std::exp(l), std::abs(-l - expected)});
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
  survivors.remove([&](TokenId id) { return !std::ranges::binary_search(typical, id); });
}

void keep_top_n_sigma(Survivors& survivors, float n) {
  if (n <= 0) return;
  double sum = 0;
  for (TokenId id : survivors.ids()) sum += double(survivors.value(id));
  const double mean = sum / double(survivors.size());
  double squares = 0;
  for (TokenId id : survivors.ids()) squares += std::pow(double(survivors.value(id)) - mean, 2);
  const double sigma = std::sqrt(squares / double(survivors.size()));
  const double floor = double(survivors.value(survivors.top())) - double(n) * sigma;
  survivors.remove([&](TokenId id) { return double(survivors.value(id)) < floor; });
}

void exclude_top_choices(Survivors& survivors, const XtcStep& step, double log_total) {
  if (step.probability <= 0 || step.threshold > 0.5F || step.uniform > double(step.probability)) return;
  const auto is_top = [&](TokenId id) {
    const double p = std::exp(double(survivors.value(id)) - log_total);
    return step.inclusive ? p >= double(step.threshold) : p > double(step.threshold);
  };
  std::size_t tops = 0;
  const auto ranked = survivors.likeliest(survivors.size());
  while (tops < ranked.size() && is_top(ranked[tops])) ++tops;
  if (tops < 2) return;
  const TokenId kept = ranked[tops - 1];
  std::vector<TokenId> removed(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(tops - 1));
  std::erase_if(removed, [&](TokenId id) {
    return id == kept || std::ranges::find(step.exempt, id) != step.exempt.end();
  });
  survivors.remove([&](TokenId id) { return std::ranges::find(removed, id) != removed.end(); });
}

float dynamic_temperature(const Survivors& survivors, float low, float high, float exponent) {
  if (survivors.size() < 2) return high;
  const double normal = entropy(survivors, survivors.log_total()) / std::log(double(survivors.size()));
  const double share = std::pow(std::clamp(normal, 0.0, 1.0), double(exponent));
  return low + (high - low) * static_cast<float>(share);
}

}  // namespace lanner::engine
