// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <limits>
#include <optional>

#include "cuda/device_pair.h"
#include "engine/sampler.h"
#include "engine/token_logprobs.h"

namespace lanner::test {
namespace {

using engine::History;
using engine::LogprobEntry;
using engine::Sampler;
using engine::SamplingOptions;

/// One choice, described for both sides.
struct Choice {
  SamplingOptions options;
  std::vector<TokenId> history;
  std::vector<TokenId> banned;
  std::vector<std::uint64_t> allowed;
  std::optional<TokenId> given;
  std::optional<std::size_t> top_logprobs;
};

struct Chosen {
  TokenId id = -1;
  LogprobEntry entry;
};

/// The host's way; nothing when every token is banned.
std::optional<Chosen> choose_on_host(const Choice& choice, std::span<const float> row,
                                     std::size_t vocabulary) {
  Sampler sampler(choice.options, {.vocabulary = vocabulary, .suppressed = {3, 5}});
  const History history{.tokens = choice.history, .prompt_tokens = choice.history.size() / 2};
  std::vector<float> logits(row.begin(), row.end());
  engine::LogitBlocks blocks(logits);
  sampler.adjust(blocks, history, choice.banned);
  std::vector<float> adjusted = logits;
  Chosen chosen;
  if (choice.given) {
    chosen.id = *choice.given;
  } else {
    if (!choice.allowed.empty()) blocks.keep(choice.allowed);
    if (!choice.allowed.empty() && blocks.value(blocks.top()) == engine::kNever) return std::nullopt;
    chosen.id = sampler.pick(blocks, history);
  }
  if (choice.top_logprobs)
    chosen.entry = engine::logprob_entry(engine::LogitBlocks(adjusted), chosen.id, *choice.top_logprobs);
  return chosen;
}

device::SampleJob job_of(const Choice& choice, std::size_t row, std::size_t columns, std::size_t vocabulary) {
  const Sampler sampler(choice.options, {.vocabulary = vocabulary, .suppressed = {3, 5}});
  REQUIRE(sampler.fits_device());
  const History history{.tokens = choice.history, .prompt_tokens = choice.history.size() / 2};
  device::SampleJob job{.row = row,
                        .vocabulary = vocabulary,
                        .edits = sampler.edits(columns, history, choice.banned).list(),
                        .allowed = choice.allowed,
                        .given = choice.given,
                        .top_logprobs = choice.top_logprobs};
  if (!choice.given) job.draw = sampler.draw_after(history);
  return job;
}

bool same(const LogprobEntry& a, const LogprobEntry& b) {
  const auto equal = [](const engine::TokenLogprob& x, const engine::TokenLogprob& y) {
    return x.id == y.id && x.logprob == y.logprob;
  };
  return equal(a.token, b.token) && std::ranges::equal(a.top, b.top, equal);
}

/// Numbers below n, one after the other from a seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t n) { return philox4x32(seed_, {count_++, 0, 0, 9})[0] % n; }
  template <typename T, std::size_t kCount>
  T one_of(const T (&values)[kCount]) {
    return values[below(kCount)];
  }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

Choice random_choice(Dice& dice, std::size_t columns) {
  Choice choice;
  SamplingOptions& options = choice.options;
  options.temperature = dice.one_of({0.0F, 0.2F, 0.7F, 1.0F, 1.0F, 1.9F});
  options.top_k = dice.one_of<std::size_t>({0, 0, 1, 5, 40, 700, 100000});
  options.top_p = dice.one_of({1.0F, 1.0F, 0.0F, 0.3F, 0.9F, 0.95F, 0.999F});
  options.min_p = dice.one_of({0.0F, 0.0F, 0.02F, 0.3F, 1.0F});
  options.profile = static_cast<engine::SamplerProfile>(dice.below(3));
  options.seed = (dice.below(1U << 31) << 31) + dice.below(1U << 31);
  options.choice = static_cast<std::uint32_t>(dice.below(3));
  for (std::size_t i = dice.below(60); i > 0; --i)
    choice.history.push_back(static_cast<TokenId>(dice.below(std::min<std::size_t>(columns, 50))));
  if (dice.below(2) == 0) options.repetition_penalty = 1.3F;
  if (dice.below(3) == 0) options.presence_penalty = 0.4F;
  if (dice.below(3) == 0) options.frequency_penalty = 0.35F;
  if (dice.below(4) == 0) options.dry = {.multiplier = 0.8F, .breakers = {}};
  if (dice.below(3) == 0) options.logit_bias = {{1, 2.5F}, {static_cast<TokenId>(columns - 1), -1.0F}};
  if (dice.below(3) == 0) choice.banned = {0, 2, 17};
  if (dice.below(2) == 0) {
    const std::size_t every = dice.one_of<std::size_t>({1, 2, 50, 3000});
    choice.allowed.resize((columns + 63) / 64);
    for (std::size_t i = 0; i < columns; ++i)
      if (dice.below(every) == 0) choice.allowed[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  if (dice.below(2) == 0) choice.top_logprobs = dice.one_of<std::size_t>({0, 1, 5, 20});
  if (dice.below(8) == 0) {
    choice.given = static_cast<TokenId>(dice.below(columns));
    choice.top_logprobs = 3;
  }
  return choice;
}

/// Logits of every kind: smooth, peaked, flat, with many equal ones, with banned ones, zeros of both signs.
void fill_row(std::span<float> row, std::size_t kind, std::uint64_t seed) {
  const auto values = random_normal(row.size(), seed);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float x = values[i];
    switch (kind % 6) {
      case 0:
        row[i] = 3 * x;
        break;
      case 1:
        row[i] = 12 * x;
        break;
      case 2:
        row[i] = 0.01F * x - 20;
        break;
      case 3:
        row[i] = std::round(2 * x) * 0.5F;
        break;
      case 4:
        row[i] = i % 3 == 0 ? engine::kNever : 2 * x;
        break;
      default:
        row[i] = i % 2 == 0 ? 0.0F : -0.0F;
    }
  }
}

}  // namespace

TEST_CASE("cuda: tokens and likelihoods are those of the host's sampler, whatever is asked for") {
  DevicePair pair;
  Dice dice(2025);
  std::size_t none_left = 0;
  std::size_t compared = 0;
  for (std::size_t columns : sizes<std::size_t>({40, 4096, 4100, 32000, 262144}, {40, 4100, 32000})) {
    CAPTURE(columns);
    const std::size_t rounds = sizes<std::size_t>({columns > 100000 ? 4U : 12U}, {3}).front();
    for (std::size_t round = 0; round < rounds; ++round) {
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      constexpr std::size_t kRows = 6;
      const auto logits = pair.empty({kRows, static_cast<std::int64_t>(columns)});
      for (std::size_t row = 0; row < kRows; ++row)
        fill_row(logits.host.row(row), row, round * 100 + row + columns);
      pair.upload(logits);
      const std::size_t vocabulary = columns - (round % 3 == 0 ? 7 : 0);
      std::vector<Choice> choices;
      std::vector<device::SampleJob> jobs;
      for (std::size_t i = 0; i < 3 * kRows; ++i) choices.push_back(random_choice(dice, columns));
      for (std::size_t i = 0; i < choices.size(); ++i)
        jobs.push_back(job_of(choices[i], i % kRows, columns, vocabulary));
      std::vector<device::SampleResult> results(jobs.size());
      pair.cuda().sample(pair.stream(), results, logits.cuda, jobs);
      for (std::size_t i = 0; i < choices.size(); ++i) {
        CAPTURE(i);
        CAPTURE(round);
        const auto want = choose_on_host(choices[i], logits.host.row(i % kRows), vocabulary);
        CHECK(!results[i].not_a_number);
        if (!want) {
          CHECK(results[i].none_left);
          ++none_left;
          continue;
        }
        CHECK(results[i].id == want->id);
        if (choices[i].top_logprobs) CHECK(same(engine::logprob_entry(results[i]), want->entry));
        ++compared;
      }
      // One by one they are the same.
      device::SampleResult alone;
      pair.cuda().sample(pair.stream(), {&alone, 1}, logits.cuda, {&jobs[round], 1});
      CHECK(alone.id == results[round].id);
      CHECK(alone.logprob == results[round].logprob);
    }
  }
  CHECK(none_left > 0);
  CHECK(compared > sizes<std::size_t>({800}, {100}).front());
}

TEST_CASE("cuda: a logit that is not a number or infinite is told of, wherever it is") {
  DevicePair pair;
  const auto logits = pair.twin({2, 5000}, 1);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    CAPTURE(bad);
    logits.host.row(1)[4999] = bad;
    pair.upload(logits);
    const std::vector<device::SampleJob> jobs = {{.row = 0, .vocabulary = 5000},
                                                 {.row = 1, .vocabulary = 4000}};
    std::vector<device::SampleResult> results(2);
    pair.cuda().sample(pair.stream(), results, logits.cuda, jobs);
    CHECK(!results[0].not_a_number);
    CHECK(results[1].not_a_number);
  }
}

}  // namespace lanner::test
