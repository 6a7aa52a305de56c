// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/error.h"
#include "core/philox.h"
#include "engine/penalties.h"
#include "engine/sampler.h"
#include "engine/tone_curve.h"
#include "engine/truncation.h"
#include "random.h"

namespace lanner::engine {
namespace {

const TokenLimits kNoLimits{.vocabulary = 1000};

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> values;
  for (double p : probabilities) values.push_back(static_cast<float>(std::log(p)));
  return values;
}

/// The tokens that come out over many positions.
std::vector<TokenId> drawn(const SamplingOptions& options, const std::vector<float>& logits,
                           int draws = 3000) {
  std::vector<TokenId> ids;
  for (int position = 0; position < draws; ++position) {
    std::vector<float> scratch = logits;
    const TokenId id = Sampler(options, kNoLimits).choose(scratch, {}, static_cast<std::size_t>(position));
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

std::vector<TokenId> ids_of(std::span<const Candidate> candidates) {
  std::vector<TokenId> ids;
  for (const Candidate& candidate : candidates) ids.push_back(candidate.id);
  return ids;
}

template <typename Step>
std::vector<TokenId> kept(std::vector<float> values, Step step) {
  const LogitBlocks blocks(values);
  Survivors survivors(blocks);
  step(survivors);
  std::vector<TokenId> ids = ids_of(survivors.all());
  std::ranges::sort(ids);
  return ids;
}

/// The penalty each token gets.
std::vector<float> dry(const DryOptions& options, const std::vector<TokenId>& history,
                       const DryBreakers& breakers = {}) {
  std::vector<float> logits(10, 0.0F);
  LogitEdits edits(logits.size());
  add_dry(edits, options, breakers, history);
  LogitBlocks blocks(logits);
  edits.apply(blocks);
  return logits;
}

}  // namespace

TEST_CASE("survivors are ranked by value, then by lower id, only as far as asked") {
  std::vector<float> values = test::random_normal(1000, 3);
  values[10] = values[20] = values[30] = 50;
  const LogitBlocks blocks(values);
  Survivors survivors(blocks);
  CHECK(ids_of(survivors.likeliest(3)) == std::vector<TokenId>{10, 20, 30});
  const std::vector<TokenId> few = ids_of(survivors.likeliest(100));
  Survivors whole(blocks);
  const auto all = whole.likeliest(1000);
  CHECK(few == ids_of(all.first(100)));
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].value >= all[i].value);
  whole.remove([](const Candidate& candidate) { return candidate.id == 20; });
  CHECK(whole.likeliest(2)[1].id == 30);
  CHECK(std::ranges::find(whole.all(), 20, &Candidate::id) == whole.all().end());
}

TEST_CASE("typical_p keeps the tokens whose surprise is nearest to the entropy") {
  // Entropy 1.28; surprises .92, 1.2, 1.61, 2.3: the second is nearest, then the third and the first.
  const auto p = logs({0.4, 0.3, 0.2, 0.1});
  const auto typical = [&](float mass) { return kept(p, [&](Survivors& s) { keep_typical(s, mass); }); };
  CHECK(typical(0.2F) == std::vector<TokenId>{1});
  CHECK(typical(0.35F) == std::vector<TokenId>{1, 2});
  CHECK(typical(0.55F) == std::vector<TokenId>{0, 1, 2});
  CHECK(typical(1.0F) == std::vector<TokenId>{0, 1, 2, 3});
}

TEST_CASE("top_n_sigma measures from the true maximum, also when all logits are negative") {
  const std::vector<float> z = {-10, -11, -12, -20};  // sigma 3.96
  const auto sigma = [&](float n) { return kept(z, [&](Survivors& s) { keep_top_n_sigma(s, n); }); };
  CHECK(sigma(0.2F) == std::vector<TokenId>{0});
  CHECK(sigma(0.3F) == std::vector<TokenId>{0, 1});
  CHECK(sigma(1.0F) == std::vector<TokenId>{0, 1, 2});
  CHECK(sigma(0.0F) == std::vector<TokenId>{0, 1, 2, 3});
}

TEST_CASE(
    "xtc removes all top choices but the least probable, not exempt ones, and only when its dice say so") {
  const auto p = logs({0.4, 0.3, 0.2, 0.1});
  const auto xtc = [&](XtcStep step) {
    step.probability = 0.5F;
    return kept(p, [&](Survivors& s) { exclude_top_choices(s, step, 0); });
  };
  CHECK(xtc({.threshold = 0.15F, .uniform = 0.4}) == std::vector<TokenId>{2, 3});
  CHECK(xtc({.threshold = 0.15F, .uniform = 0.6}) == std::vector<TokenId>{0, 1, 2, 3});
  CHECK(xtc({.threshold = 0.35F, .uniform = 0.4}) == std::vector<TokenId>{0, 1, 2, 3});
  const std::vector<TokenId> exempt = {0};
  CHECK(xtc({.threshold = 0.15F, .uniform = 0.4, .exempt = exempt}) == std::vector<TokenId>{0, 2, 3});
  CHECK(xtc({.threshold = 0.6F, .uniform = 0.4}) == std::vector<TokenId>{0, 1, 2, 3});
}

TEST_CASE("profiles apply the temperature where their makers do") {
  const auto p = logs({0.5, 0.25, 0.15, 0.1});
  SamplingOptions options{.temperature = 3, .top_p = 0.7F};
  CHECK(drawn(options, p) == std::vector<TokenId>{0, 1});  // mass at temperature 1
  options.profile = SamplerProfile::kHf;
  CHECK(drawn(options, p) == std::vector<TokenId>{0, 1, 2});  // .34, .27, .23, .2 at temperature 3
  options.profile = SamplerProfile::kLlama;
  CHECK(drawn(options, p) == std::vector<TokenId>{0, 1});
  options.steps = {SamplerStep::kTemperature, SamplerStep::kTopP};
  CHECK(drawn(options, p) == std::vector<TokenId>{0, 1, 2});
}

TEST_CASE("after top_k, min_p and top_p of llama.cpp see what is left as a whole") {
  const auto p = logs({0.3, 0.3, 0.2, 0.2});
  SamplingOptions options{.temperature = 1, .top_k = 3, .top_p = 0.7F};
  CHECK(drawn(options, p) == std::vector<TokenId>{0, 1, 2});
  options.profile = SamplerProfile::kLlama;  // .375 + .375 of three
  CHECK(drawn(options, p) == std::vector<TokenId>{0, 1});
}

TEST_CASE("extreme settings choose as greedy does") {
  const std::vector<float> logits = {-5, -3, -4, -3};
  for (SamplingOptions options :
       {SamplingOptions{.temperature = 1e-30F}, SamplingOptions{.top_k = 1}, SamplingOptions{.min_p = 1},
        SamplingOptions{.temperature = 0, .top_p = 0.9F}}) {
    const auto ids = drawn(options, logits, 50);
    CHECK(ids.front() == 1);
    if (options.temperature == 0 || options.top_k == 1) CHECK(ids.size() == 1);
  }
  const float never = -std::numeric_limits<float>::infinity();
  CHECK(drawn({.temperature = 2, .top_p = 0.5F}, {never, never, 1, never}, 20) == std::vector<TokenId>{2});
  CHECK_THROWS_AS(drawn({.temperature = 1}, {never, never}, 1), Error);
}

TEST_CASE("a quick draw is the draw: no token is passed over that would have won") {
  const auto logits = test::random_normal(3000, 12);
  for (float temperature : {0.3F, 1.0F, 4.0F})
    for (std::uint32_t position = 0; position < 40; ++position) {
      const SamplingOptions options{.temperature = temperature, .seed = 77};
      double best = -1e300;
      TokenId want = -1;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const auto words = philox4x32(77, {static_cast<std::uint32_t>(i / 4), position, 0, 0});
        const double u = std::min((double(words[i % 4]) + 0.5) * 0x1p-32, 1 - 0x1p-24);
        const double value = double(logits[i]) / double(temperature) - std::log(-std::log1p(-u));
        if (value > best) {
          best = value;
          want = static_cast<TokenId>(i);
        }
      }
      std::vector<float> scratch = logits;
      CHECK(Sampler(options, {.vocabulary = logits.size()}).choose(scratch, {}, position) == want);
    }
}

TEST_CASE("dynamic temperature follows the entropy, a schedule the number of tokens") {
  const auto dynamic = [](std::vector<float> values) {
    const LogitBlocks blocks(values);
    Survivors survivors(blocks);
    return dynamic_temperature(survivors, 0.5F, 1.5F, 1);
  };
  CHECK(dynamic({1, 1, 1, 1, 1, 1, 1, 1}) == doctest::Approx(1.5));
  CHECK(dynamic({40, 0, 0, 0}) == doctest::Approx(0.5));

  const std::vector<float> logits = {1, 0.9F, 0.8F};
  SamplingOptions options{.temperature = 1, .temperature_points = {{10, 0.0F}, {20, 5.0F}}};
  const auto others = [&](std::size_t generated) {
    int count = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      options.seed = seed;
      std::vector<float> scratch = logits;
      const std::vector<TokenId> history(generated, 0);
      count += Sampler(options, kNoLimits).pick(LogitBlocks(scratch), {.tokens = history}) != 0;
    }
    return count;
  };
  CHECK(others(0) == 0);
  CHECK(others(10) == 0);
  CHECK(others(25) > 40);
}

TEST_CASE("penalties have windows of their own; the hf profile counts generated tokens only") {
  const std::vector<TokenId> tokens = {1, 1, 2, 3};
  const History history{.tokens = tokens, .prompt_tokens = 3};
  const auto penalised = [&](const SamplingOptions& options) {
    std::vector<float> logits = {1, 1, 1, 1};
    LogitEdits edits(logits.size());
    add_penalties(edits, options, history);
    LogitBlocks blocks(logits);
    edits.apply(blocks);
    return logits;
  };
  CHECK(penalised({.presence_penalty = 0.5F}) == std::vector<float>{1, 0.5F, 0.5F, 0.5F});
  CHECK(penalised({.presence_penalty = 0.5F, .presence_window = 2}) == std::vector<float>{1, 1, 0.5F, 0.5F});
  CHECK(penalised({.frequency_penalty = 0.25F, .frequency_window = 0}) ==
        std::vector<float>{1, 0.5F, 0.75F, 0.75F});
  SamplingOptions hf{.repetition_penalty = 2, .presence_penalty = 0.25F, .profile = SamplerProfile::kHf};
  CHECK(penalised(hf) == std::vector<float>{1, 0.5F, 0.5F, 0.25F});
}

TEST_CASE("dry lowers what would go on with a repetition, more the longer it is") {
  const DryOptions options{.multiplier = 1, .base = 2, .allowed_length = 2, .window = 0};
  // "1 2 3 4" came before; the text ends in "1 2 3", so 4 continues three repeated tokens.
  CHECK(dry(options, {1, 2, 3, 4, 5, 1, 2, 3})[4] == -2);
  CHECK(dry(options, {2, 3, 4, 5, 1, 2, 3})[4] == -1);
  CHECK(dry(options, {3, 4, 5, 1, 2, 3})[4] == 0);
  // Equal runs: the longest counts.
  CHECK(dry(options, {7, 7, 7, 7})[7] == -2);
  DryOptions narrow = options;
  narrow.window = 4;
  CHECK(dry(narrow, {1, 2, 3, 4, 5, 1, 2, 3})[4] == 0);
  DryOptions steep = options;
  steep.base = 100;
  const std::vector<TokenId> endless(400, 7);
  CHECK(std::isfinite(dry(steep, endless)[7]));
}

TEST_CASE("mirostat keeps the mean surprise near its target") {
  std::vector<float> logits(200);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = -1.1F * std::log(static_cast<float>(i + 1));
  const double total = [&] {
    double sum = 0;
    for (float z : logits) sum += std::exp(double(z));
    return std::log(sum);
  }();
  for (int version : {1, 2}) {
    CAPTURE(version);
    SamplingOptions options{.temperature = 1};
    options.mirostat = {.version = version, .target = 3, .rate = 0.1F};
    Sampler sampler(options, kNoLimits);
    double surprise = 0;
    constexpr int kDraws = 2000;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<float> scratch = logits;
      const TokenId id = sampler.choose(scratch, {}, static_cast<std::size_t>(i));
      surprise -= (double(logits[static_cast<std::size_t>(id)]) - total) / std::log(2.0);
    }
    CHECK(surprise / kDraws == doctest::Approx(3).epsilon(0.25));
  }
}

TEST_CASE("adaptive_p prefers tokens near its probability") {
  const auto p = logs({0.6, 0.2, 0.1, 0.05, 0.05});
  SamplingOptions options{.temperature = 1};
  options.adaptive = {.target = 0.2F, .decay = 0.5F};
  Sampler sampler(options, kNoLimits);
  std::map<TokenId, int> counts;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::vector<float> scratch = p;
    ++counts[sampler.choose(scratch, {}, i)];
  }
  CHECK(counts[1] > counts[0]);
}

TEST_CASE("a tone curve never moves the likeliest; without shoulder and toe it is temperature") {
  std::vector<float> values = test::random_normal(50, 8);
  for (float& v : values) v *= 4;
  const LogitBlocks blocks(values);
  const auto after = [&](const HlgOptions& options) {
    Survivors survivors(blocks);
    apply_hlg(survivors, options, 0.8F);
    std::vector<float> curved(values.size());
    for (const Candidate& candidate : survivors.all())
      curved[static_cast<std::size_t>(candidate.id)] = candidate.value;
    return curved;
  };
  const std::vector<float> curved = after({.enabled = true});
  CHECK(argmax(curved) == argmax(values));
  for (std::size_t i = 0; i < 50; ++i)
    for (std::size_t j = 0; j < 50; ++j)
      if (values[i] < values[j]) CHECK(curved[i] <= curved[j]);
  const std::vector<float> linear = after({.enabled = true, .shoulder = 0, .toe = 0});
  for (std::size_t i = 1; i < 50; ++i)
    CHECK(linear[i] - linear[0] == doctest::Approx((values[i] - values[0]) / 0.8F).epsilon(1e-4));
}

TEST_CASE("a probability curve goes through its points, rises, and is refused when it cannot") {
  const ProbabilityCurve curve({{1, 2}, {10, 10}, {50, 80}});
  CHECK(curve(std::log(0.01F)) == doctest::Approx(std::log(2.0)));
  CHECK(curve(std::log(0.1F)) == doctest::Approx(std::log(10.0)));
  CHECK(curve(std::log(0.5F)) == doctest::Approx(std::log(80.0)));
  float last = -100;
  for (float l = -9; l < 0; l += 0.05F) {
    CHECK(curve(l) >= last);
    last = curve(l);
  }
  CHECK_THROWS_AS(ProbabilityCurve({{1, 2}}), Error);
  CHECK_THROWS_AS(ProbabilityCurve({{1, 2}, {1, 3}}), Error);
  CHECK_THROWS_AS(ProbabilityCurve({{1, 2}, {2, 1}}), Error);
  CHECK_THROWS_AS(ProbabilityCurve({{0, 2}, {2, 3}}), Error);
}

}  // namespace lanner::engine
