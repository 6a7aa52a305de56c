// SPDX-License-Identifier: MIT
// The sampler beside a plain one that lists the whole vocabulary and sorts it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/philox.h"
#include "core/portable_math.h"
#include "engine/sampler.h"
#include "engine/token_logprobs.h"
#include "engine/truncation.h"
#include "random.h"

namespace lanner::engine {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 5, 63, 64, 65, 200, 3000, 20000};

/// `ties`: values are multiples of 1/4, so that most have equals. Every fifth is banned.
std::vector<float> some_logits(std::size_t size, std::uint64_t seed, bool ties) {
  std::vector<float> logits = test::random_normal(size, seed);
  for (std::size_t i = 0; i < size; ++i) {
    logits[i] *= seed % 2 == 0 ? 4 : 1;
    if (ties) logits[i] = std::round(logits[i] * 4) / 4;
    if (i % 5 == 3) logits[i] = kNever;
  }
  return logits;
}

std::vector<Candidate> ranked(std::span<const float> values) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != kNever) all.push_back({static_cast<TokenId>(i), values[i]});
  std::ranges::sort(all, likelier);
  return all;
}

double log_total(std::span<const Candidate> all) {
  std::uint64_t mass = 0;
  for (const Candidate& c : all) mass += integer_mass(double(c.value) - double(all.front().value));
  return double(all.front().value) + log_of_mass(mass);
}

/// By the steps of the profile: top_k, top_p, min_p and temperature.
TokenId plain_choice(const SamplingOptions& options, std::span<const float> logits, std::size_t position) {
  std::vector<Candidate> left = ranked(logits);
  if (options.temperature == 0) return left.front().id;
  double divisor = double(options.temperature);
  const auto cool = [&] {
    for (Candidate& c : left) c.value /= options.temperature;
    divisor = 1;
  };
  const auto top_k = [&] {
    if (options.top_k > 0) left.resize(std::min(left.size(), options.top_k));
  };
  const auto top_p = [&](double total) {
    std::uint64_t sum = 0;
    std::size_t kept = 0;
    while (kept < left.size() && (kept == 0 || sum < mass_target(options.top_p)))
      sum += integer_mass(double(left[kept++].value) - total);
    if (options.top_p < 1) left.resize(kept);
  };
  const auto min_p = [&] {
    if (options.min_p <= 0) return;
    const float floor = left.front().value + min_p_log(options.min_p);
    std::erase_if(left, [&](const Candidate& c) { return c.value < floor; });
  };
  if (options.top_k > 0 || options.top_p < 1 || options.min_p > 0) {
    const double total = log_total(left);
    for (Candidate& c : left) c.value = static_cast<float>(double(c.value) - total);
    std::ranges::sort(left, likelier);
    if (options.profile == SamplerProfile::kMlx) {
      top_p(0);
      min_p();
      top_k();
    } else {
      if (options.profile == SamplerProfile::kHf) cool();
      std::ranges::sort(left, likelier);
      top_k();
      top_p(log_total(left));
      min_p();
      if (options.profile == SamplerProfile::kLlama) cool();
    }
  }
  double best = 0;
  TokenId chosen = -1;
  std::ranges::sort(left, {}, &Candidate::id);
  for (const Candidate& c : left) {
    const auto id = static_cast<std::uint32_t>(c.id);
    const auto words =
        philox4x32(options.seed, {id / 4, static_cast<std::uint32_t>(position), 0, options.choice});
    const double sum = double(c.value) / divisor + gumbel_noise(words[id % 4]);
    if (chosen < 0 || sum > best) {
      best = sum;
      chosen = c.id;
    }
  }
  return chosen;
}

std::vector<SamplingOptions> some_options() {
  std::vector<SamplingOptions> list;
  for (float temperature : {0.0F, 0.6F, 1.0F, 3.0F})
    for (std::size_t top_k : {0, 1, 3, 20, 700, 100000})
      for (float top_p : {1.0F, 0.95F, 0.3F, 0.0F})
        for (float min_p : {0.0F, 0.05F})
          for (SamplerProfile profile : {SamplerProfile::kMlx, SamplerProfile::kLlama, SamplerProfile::kHf})
            list.push_back({.temperature = temperature,
                            .top_k = top_k,
                            .top_p = top_p,
                            .min_p = min_p,
                            .seed = list.size(),
                            .profile = profile});
  return list;
}

}  // namespace

TEST_CASE("tokens are those of a sampler that sorts the whole vocabulary, with any instructions") {
  const std::vector<SamplingOptions> options = some_options();
  for (std::size_t size : kSizes)
    for (bool ties : {false, true}) {
      const std::vector<float> logits = some_logits(size, size, ties);
      // The longer, the fewer.
      for (std::size_t i = 0; i < options.size(); i += 1 + size / 500) {
        const std::size_t position = 7 * i;
        CAPTURE(size);
        CAPTURE(i);
        const TokenId want = plain_choice(options[i], logits, position);
        for (Isa isa : supported_isas()) {
          std::vector<float> row = logits;
          const std::vector<TokenId> history(position);
          LogitBlocks blocks(row, isa);
          Sampler sampler(options[i], {.vocabulary = size});
          sampler.adjust(blocks, {.tokens = history});
          CHECK(sampler.pick(blocks, {.tokens = history}) == want);
        }
      }
    }
}

TEST_CASE("survivors that are not listed rank, sum and drop as listed ones do") {
  for (std::size_t size : kSizes)
    for (std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{70}, size + 5}) {
      CAPTURE(size);
      CAPTURE(count);
      std::vector<float> logits = some_logits(size, size + 1, true);
      const LogitBlocks blocks(logits);
      // Many logits become one value.
      const double amount = 3e7;
      const float divisor = 3;
      std::vector<float> changed = logits;
      for (float& value : changed) value = static_cast<float>(double(value) - amount) / divisor;
      const std::vector<Candidate> want = ranked(changed);
      const auto survivors = [&] {
        Survivors whole(blocks);
        whole.subtract(amount);
        whole.divide(divisor);
        return whole;
      };
      const auto same = [](std::span<const Candidate> a, std::span<const Candidate> b) {
        return std::ranges::equal(
            a, b, [](const Candidate& x, const Candidate& y) { return x.id == y.id && x.value == y.value; });
      };
      const std::size_t kept = std::min(count, want.size());
      CHECK(same(survivors().likeliest(count), std::span(want).first(kept)));
      CHECK(survivors().log_total() == log_total(want));
      Survivors fewer = survivors();
      fewer.keep_likeliest(count);
      CHECK(same(fewer.likeliest(size), std::span(want).first(kept)));
      Survivors higher = survivors();
      higher.keep_at_least(double(want[kept - 1].value));
      const auto below =
          std::ranges::find_if(want, [&](const Candidate& c) { return c.value < want[kept - 1].value; });
      CHECK(same(higher.likeliest(size), {want.begin(), below}));
    }
}

TEST_CASE("log-probabilities are those of a sorted vocabulary, equal ones by id") {
  for (std::size_t size : kSizes)
    for (std::size_t top : {0, 1, 5, 300, 30000}) {
      CAPTURE(size);
      CAPTURE(top);
      std::vector<float> logits = some_logits(size, size, true);
      logits[0] = 20;
      const std::vector<Candidate> all = ranked(logits);
      std::uint64_t mass = 0;
      for (const Candidate& c : all) mass += integer_mass(double(c.value) - 20);
      const float total = 20 + static_cast<float>(log_of_mass(mass));
      std::vector<float> scores = logits;
      for (float& score : scores) score -= total;
      const std::vector<Candidate> want = ranked(scores);
      const LogprobEntry entry = logprob_entry(LogitBlocks(logits), 0, top);
      CHECK(entry.token.logprob == scores[0]);
      REQUIRE(entry.top.size() == std::min(top, want.size()));
      for (std::size_t i = 0; i < entry.top.size(); ++i) {
        CHECK(entry.top[i].id == want[i].id);
        CHECK(entry.top[i].logprob == want[i].value);
      }
    }
}

TEST_CASE("the largest of blocks stay right while logits are edited and banned") {
  for (std::size_t size : kSizes) {
    CAPTURE(size);
    std::vector<float> logits = some_logits(size, size, true);
    std::vector<float> want = logits;
    LogitBlocks blocks(logits);
    const auto check = [&] {
      CHECK(std::ranges::equal(blocks.values(), want));
      CHECK(blocks.top() == std::ranges::max_element(want) - want.begin());
      for (std::size_t i = 0; i < blocks.count(); ++i)
        CHECK(blocks.largest()[i] == std::ranges::max(blocks.block(i)));
    };
    check();
    for (std::uint32_t round = 0; round < 40; ++round) {
      const auto words = philox4x32(5, {round, static_cast<std::uint32_t>(size), 0, 0});
      const std::size_t at = words[0] % size;
      const float value = words[1] % 3 == 0 ? kNever : static_cast<float>(words[1] % 9) - 5;
      want[at] = value;
      blocks.set(static_cast<TokenId>(at), value);
    }
    check();
    std::vector<std::uint64_t> allowed(blocks.count());
    for (std::uint32_t i = 0; i < allowed.size(); ++i) {
      const auto words = philox4x32(6, {i, 0, 0, 0});
      allowed[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? ~std::uint64_t{0} : words[0] | std::uint64_t{words[1]} << 32;
    }
    for (std::size_t i = 0; i < size; ++i)
      if ((allowed[i / 64] >> (i % 64) & 1U) == 0) want[i] = kNever;
    blocks.keep(allowed);
    check();
    const std::size_t first = size - size / 3;
    std::fill(want.begin() + static_cast<std::ptrdiff_t>(first), want.end(), kNever);
    blocks.ban_from(first);
    check();
  }
}

TEST_CASE("a row with something that is not a number is refused wherever it stands") {
  for (std::size_t size : {1, 64, 150})
    for (std::size_t at = 0; at < size; ++at)
      for (float bad : {std::nanf(""), -kNever}) {
        std::vector<float> logits(size, 1);
        logits[at] = bad;
        for (Isa isa : supported_isas()) CHECK_THROWS_AS(LogitBlocks(logits, isa), NotFinite);
        CHECK_THROWS_AS(require_finite(logits), NotFinite);
        logits[at] = kNever;
        CHECK_THROWS_AS(require_finite(logits), NotFinite);
        LogitBlocks blocks(logits);
        CHECK_THROWS_AS(blocks.set(static_cast<TokenId>(at), std::nanf("")), NotFinite);
      }
}

}  // namespace lanner::engine
