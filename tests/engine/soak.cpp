// SPDX-License-Identifier: MIT
#include "engine/soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "engine/collected.h"
#include "engine/grammar_constraint.h"
#include "engine/late_constraint.h"
#include "engine/sequence_memory.h"
#include "engine/test_grammars.h"
#include "engine/test_models.h"

namespace lanner::test {
namespace {

using Clock = std::chrono::steady_clock;
using engine::Request;

/// Pseudo-random numbers that are the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }

 private:
  std::mt19937_64 engine_;
};

struct Plan {
  Request request;
  std::size_t cancel_after = SIZE_MAX;  ///< events
  unsigned lateness = 0;                ///< percent of what a constraint is asked
  int eagerness = 100;                  ///< percent of looks at which an event is read
};

/// Prompts share beginnings, as those of real users do.
std::vector<TokenId> random_prompt(Dice& dice, std::size_t vocabulary) {
  Dice shared(dice.below(3));
  std::vector<TokenId> ids;
  const std::size_t common = dice.below(4) * 40;
  for (std::size_t i = 0; i < common; ++i)
    ids.push_back(static_cast<TokenId>(8 + shared.below(vocabulary - 16)));
  const std::size_t own = 1 + dice.below(60);
  for (std::size_t i = 0; i < own; ++i) ids.push_back(static_cast<TokenId>(8 + dice.below(vocabulary - 16)));
  // A repetition gives the drafter something to find.
  if (dice.chance(50))
    ids.insert(ids.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2));
  return ids;
}

engine::SamplingOptions random_sampling(Dice& dice) {
  engine::SamplingOptions sampling;
  sampling.temperature = dice.chance(40) ? 0.0F : 0.2F + 0.2F * static_cast<float>(dice.below(6));
  if (dice.chance(40)) sampling.top_k = 1 + dice.below(50);
  if (dice.chance(40)) sampling.top_p = 0.5F + 0.1F * static_cast<float>(dice.below(5));
  if (dice.chance(20)) sampling.min_p = 0.05F;
  if (dice.chance(20)) sampling.typical_p = 0.9F;
  if (dice.chance(10)) sampling.top_n_sigma = 2;
  if (dice.chance(15)) sampling.xtc = {.probability = 0.5F, .threshold = 0.05F};
  if (dice.chance(25)) sampling.repetition_penalty = 1.1F;
  if (dice.chance(15)) sampling.frequency_penalty = 0.3F;
  if (dice.chance(10)) sampling.dry = {.multiplier = 0.8F, .breakers = {}};
  if (dice.chance(10)) sampling.mirostat.version = 1 + static_cast<int>(dice.below(2));
  sampling.profile = static_cast<engine::SamplerProfile>(dice.below(3));
  sampling.seed = dice.below(1000);
  return sampling;
}

/// What random requests are made of.
struct Material {
  std::size_t vocabulary;
  const text::Tokenizer& tokenizer;
  std::vector<TokenId> words;  ///< tokens of several bytes
  std::vector<std::shared_ptr<const text::grammar::Grammar>> grammars;
};

/// Guesses that no text gives reason to, some of them right by chance.
engine::DraftSource random_guesses(std::size_t vocabulary, std::size_t seed) {
  return [vocabulary, seed](std::span<const TokenId> text, std::size_t count) {
    Dice dice(seed + text.size());
    std::vector<TokenId> guesses(dice.below(count + 1));
    for (TokenId& id : guesses) id = static_cast<TokenId>(dice.below(vocabulary));
    return guesses;
  };
}

Plan random_plan(Dice& dice, const Material& material) {
  const std::size_t vocabulary = material.vocabulary;
  Plan plan;
  Request& request = plan.request;
  request.prompt = random_prompt(dice, vocabulary);
  request.sampling = random_sampling(dice);
  request.max_tokens = dice.below(50);
  if (dice.chance(25)) request.choices = 2 + dice.below(2);
  if (dice.chance(30)) request.end_of_text = engine::EndOfText::kBanned;
  if (dice.chance(20)) request.min_tokens = 10;
  if (dice.chance(20)) request.stop = {"e", "the"};
  if (dice.chance(20)) request.stop_ids = {material.words[dice.below(material.words.size())]};
  if (dice.chance(30)) request.top_logprobs = dice.below(4);
  if (dice.chance(10)) request.prompt_logprobs = 1;
  if (dice.chance(60)) request.draft_tokens = 1 + dice.below(8);
  if (dice.chance(70)) request.draft_rule = engine::DraftRule::kFixed;
  if (dice.chance(20)) request.draft_source = random_guesses(vocabulary, dice.below(1000));
  if (dice.chance(35))
    request.constraint = [grammar = material.grammars[dice.below(material.grammars.size())],
                          &tokenizer = material.tokenizer] {
      return std::make_unique<engine::GrammarConstraint>(grammar, tokenizer);
    };
  if (dice.chance(20)) request.thinking_budget = dice.below(8);
  request.form = dice.chance(50) ? engine::AnswerForm::kPlain : engine::AnswerForm::kChat;
  request.priority = static_cast<int>(dice.below(3));
  if (dice.chance(50)) request.checkpoints = {{.tokens = 1 + dice.below(request.prompt.size())}};
  if (request.constraint && dice.chance(50)) plan.lateness = static_cast<unsigned>(20 + dice.below(81));
  if (dice.chance(15)) plan.cancel_after = dice.below(30);
  if (dice.chance(20)) plan.eagerness = 5;
  return plan;
}

/// The request as it runs beside others: now and then its constraint is late.
Request in_company(const Plan& plan) {
  Request request = plan.request;
  if (request.constraint) request.constraint = late(request.constraint, plan.lateness);
  return request;
}

struct Running {
  std::size_t index;
  engine::RequestHandle handle;
  std::size_t events = 0;
  Collected got;
};

/// Reads a little from every request; moves those that are over to `done`.
void read_some(std::vector<Running>& running, const std::vector<Plan>& plans, std::vector<Collected>& done,
               Dice& dice) {
  for (Running& one : running) {
    const Plan& plan = plans[one.index];
    if (!dice.chance(plan.eagerness)) continue;
    while (auto event = one.handle.next_for(std::chrono::milliseconds(0))) {
      if (++one.events == plan.cancel_after) one.handle.cancel();
      collect(one.got, std::move(*event));
    }
    if (one.handle.is_over()) done[one.index] = std::move(one.got);
  }
  std::erase_if(running, [](const Running& one) { return one.handle.is_over(); });
}

bool same(const std::vector<engine::LogprobEntry>& a, const std::vector<engine::LogprobEntry>& b) {
  const auto equal = [](const engine::TokenLogprob& x, const engine::TokenLogprob& y) {
    return x.id == y.id && x.logprob == y.logprob;
  };
  return std::ranges::equal(a, b, [&](const engine::LogprobEntry& x, const engine::LogprobEntry& y) {
    return equal(x.token, y.token) && std::ranges::equal(x.top, y.top, equal);
  });
}

bool is_cancelled(const Collected& got) {
  return std::ranges::any_of(got.choices, [](const CollectedChoice& choice) {
    return choice.end && choice.end->reason == engine::FinishReason::kCancelled;
  });
}

/// How what came out in company differs from what comes out alone; empty when it does not.
std::string difference(const CollectedChoice& got, const CollectedChoice& alone) {
  if (!got.end) return "never ended";
  if (got.end->reason == engine::FinishReason::kCancelled) {
    const bool begins = got.tokens.size() <= alone.tokens.size() &&
                        std::equal(got.tokens.begin(), got.tokens.end(), alone.tokens.begin());
    return begins ? "" : "was cancelled, but had said something else";
  }
  if (got.tokens != alone.tokens) return "says other tokens";
  if (got.end->reason != alone.end->reason) return "ended for another reason";
  if (got.end->stop_string != alone.end->stop_string) return "met another stop string";
  if (got.content() != alone.content()) return "says other text";
  if (!same(got.logprobs, alone.logprobs)) return "has other likelihoods";
  return "";
}

void compare(const Plan& plan, const Collected& got, engine::Engine& solo, const std::string& name,
             std::vector<std::string>& faults) {
  Request request = plan.request;
  request.draft_tokens = 0;
  request.prefix = {.read = false, .write = false};
  const Collected alone = collect(solo.require(std::move(request)));
  if (got.failure || alone.failure) {
    faults.push_back(name + " failed: " + (got.failure ? got.failure->message : alone.failure->message));
    return;
  }
  if (got.choices.size() != alone.choices.size()) {
    faults.push_back(name + " has another number of choices");
    return;
  }
  bool whole = true;
  for (std::size_t i = 0; i < got.choices.size(); ++i) {
    const std::string found = difference(got.choices[i], alone.choices[i]);
    if (!found.empty()) faults.push_back(name + " choice " + std::to_string(i) + " " + found);
    whole = whole && got.choices[i].end && got.choices[i].end->reason != engine::FinishReason::kCancelled;
  }
  if (whole && !same(got.prompt_logprobs, alone.prompt_logprobs))
    faults.push_back(name + " has other likelihoods of the prompt");
}

}  // namespace

SoakReport soak(const std::shared_ptr<const engine::LoadedModel>& model, const SoakOptions& options) {
  constexpr std::size_t kAtOnce = 10;
  Dice dice(options.seed);
  Dice timing(options.seed + 1);
  engine::EngineOptions crowded{.threads = options.threads, .max_sequences = 5};
  crowded.max_step_tokens = 64 + 64 * dice.below(4);
  crowded.prefill_chunk = 64 + 64 * dice.below(2);
  crowded.headroom_tokens = 8;
  crowded.event_capacity = 16;
  crowded.checkpoint_interval = 64;
  crowded.mask_deadline = std::chrono::milliseconds(dice.below(2));
  const engine::SequenceMemory memory(model->cache_spec());
  crowded.cache_bytes = memory.bytes({.tokens = 300}) + memory.bytes({.tokens = 150});

  const std::size_t vocabulary = usable_vocabulary(*model);
  const auto texts = grammar_vocabulary(*model, vocabulary);
  Material material{vocabulary, model->tokenizer(), {}, test_grammars(texts)};
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary; ++id)
    if (texts->text(id).size() > 1) material.words.push_back(id);
  SoakReport report;
  std::vector<Plan> plans;
  std::vector<Collected> done;
  {
    engine::Engine engine(model, crowded);
    std::vector<Running> running;
    const auto end = Clock::now() + options.duration * 2 / 3;  // the rest is for the runs alone
    while (Clock::now() < end && plans.size() < options.most_requests) {
      if (running.size() < kAtOnce && timing.chance(30)) {
        plans.push_back(random_plan(dice, material));
        done.emplace_back();
        running.push_back(
            {.index = plans.size() - 1, .handle = engine.require(in_company(plans.back())), .got = {}});
      }
      read_some(running, plans, done, timing);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    while (!running.empty()) {
      read_some(running, plans, done, timing);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    const engine::EngineStats stats = engine.stats();
    report.preemptions = stats.preemptions;
    report.prefix_hits = stats.prefixes.hits;
    report.put_off = stats.put_off;
    for (std::uint64_t accepted : stats.accepted) report.accepted_guesses += accepted;
    if (stats.running + stats.waiting + stats.cache_bytes > 0)
      report.faults.push_back("something was left behind");
    const std::size_t step_bytes = memory.step_bytes(crowded.max_step_tokens, crowded.max_sequences);
    if (stats.peak_bytes > *crowded.cache_bytes + step_bytes)
      report.faults.push_back(fmt::format("the caches outgrew their memory: {} of {} bytes", stats.peak_bytes,
                                          *crowded.cache_bytes + step_bytes));
  }
  engine::Engine solo(
      model, {.threads = options.threads, .max_sequences = 1, .prefix_bytes = 0, .choose_on_device = false});
  for (std::size_t i = 0; i < plans.size(); ++i) {
    compare(plans[i], done[i], solo, "request " + std::to_string(i), report.faults);
    ++(is_cancelled(done[i]) ? report.cancelled : report.finished);
    if (plans[i].request.constraint) ++report.constrained;
  }
  report.requests = plans.size();
  return report;
}

}  // namespace lanner::test
