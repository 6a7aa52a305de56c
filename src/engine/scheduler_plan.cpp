// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
#include <tuple>

#include "engine/scheduler.h"
#include "engine/sequence_fault.h"

namespace lanner::engine {
namespace {

// Decided tokens that a sequence may lack and still go into every step.
constexpr std::size_t kFewTokens = 64;
// Prompts share a step in pieces of so many rows. A piece goes into every step, so one must not take longer
// than people's patience between two tokens; products of 8 rows are about as fast a row as those of more.
constexpr std::size_t kPiece = 8;
// Of the time that people are patient, what steps are planned for: predictions err.
constexpr double kPlannedShare = 0.8;
// A sequence that lost its caches so often keeps them, unless nothing else can give way.
constexpr std::size_t kMostPreemptions = 3;
// A prompt passed over so often comes next.
constexpr std::size_t kMostSkips = 8;

/// Generating, or so near to it that its rows are few: it goes into every step.
bool is_generating(const Sequence& sequence) {
  return sequence.tokens().size() > sequence.prompt_size() && sequence.pending() <= kFewTokens;
}

/// Somebody reads what it says, and it lacks rows.
bool can_compute(const Sequence& sequence) {
  return sequence.ticket().channel->has_room() && sequence.pending() > 0;
}

}  // namespace

/// Lets those go on whose constraints were late and are no more.
void Scheduler::go_on_late(Sequence::Deadline until) {
  for (const Owned& sequence : running_) {
    if (const auto fault = fault_of(*sequence, [&] { sequence->go_on(until); }))
      fail(sequence->ticket(), *fault);
    deliver(*sequence);
  }
  remove_over(running_);
}

/// True when a constraint is late; returns soon, so that news are not kept waiting.
bool Scheduler::wait_for_late() {
  const auto late = std::ranges::find_if(running_, [](const Owned& one) { return one->is_late(); });
  if (late == running_.end()) return false;
  constexpr std::chrono::milliseconds kAWhile(1);
  (*late)->wait_for_constraint(Clock::now() + kAWhile);
  return true;
}

std::vector<StepWork> Scheduler::plan_step(Sequence::Deadline until) {
  std::vector<Sequence*> ranked;
  for (const Owned& sequence : running_)
    if (can_compute(*sequence)) ranked.push_back(sequence.get());
  std::ranges::sort(ranked, [](const Sequence* a, const Sequence* b) { return is_more_urgent(*a, *b); });
  std::vector<StepWork> works;
  plan_generating(works, std::move(ranked), until);
  std::size_t rows = 0;
  for (const StepWork& work : works) rows += work.rows();
  plan_prompts(works, prompt_share(rows));
  return works;
}

void Scheduler::plan_generating(std::vector<StepWork>& works, std::vector<Sequence*> ranked,
                                Sequence::Deadline until) {
  std::erase_if(ranked, [](const Sequence* sequence) { return !is_generating(*sequence); });
  std::size_t rows = 0;
  for (const Sequence* sequence : ranked) rows += sequence->pending();
  for (Sequence* sequence : ranked) {
    // The most urgent come first, so whoever loses its memory here has no rows in the step yet.
    if (!sequence->cache) continue;
    const std::size_t spare = options_.max_step_tokens - std::min(options_.max_step_tokens, rows);
    const std::size_t depth = std::min(spare, draft_depth(*sequence, ranked.size()));
    if (!make_room(*sequence, sequence->tokens().size())) continue;
    works.push_back(generating_work(*sequence, depth, until));
    rows += works.back().guesses;
  }
}

std::size_t Scheduler::draft_depth(Sequence& sequence, std::size_t generating) {
  if (sequence.request().draft_rule == DraftRule::kFixed) return sequence.most_guesses();
  return sequence.depth.choose(sequence.most_guesses(), sequence.tokens().size(),
                               [&](std::size_t rows) { return cost_.predict_ms(generating - 1 + rows); });
}

StepWork Scheduler::generating_work(Sequence& sequence, std::size_t depth, Sequence::Deadline until) {
  const auto tokens = sequence.tokens();
  StepWork work{.sequence = &sequence, .begin = sequence.computed()};
  work.ids.assign(tokens.begin() + static_cast<std::ptrdiff_t>(work.begin), tokens.end());
  const std::size_t decided = work.ids.size();
  std::vector<TokenId> guesses = sequence.propose(depth, until);
  guesses.resize(std::min(guesses.size(), cache::SequenceCache::kMaxDraft - decided));
  const SequenceSize size = {.tokens = tokens.size() + guesses.size(),
                             .draft_rows = decided + guesses.size()};
  // What a draft takes is kept, and may not be missing for what the sequence was promised.
  const bool leaves_room = budget_.needed_bytes({.tokens = sequence.ticket().token_limit,
                                                 .draft_rows = size.draft_rows}) <= budget_.total_bytes();
  if (!guesses.empty() && leaves_room && try_reserve(sequence, size))
    if (auto draft = sequence.cache->begin_draft(decided + guesses.size()))
      work.draft.emplace(std::move(*draft));
  if (work.draft) {
    work.ids.insert(work.ids.end(), guesses.begin(), guesses.end());
    work.guesses = guesses.size();
  }
  work.phase = work.draft     ? layers::Phase::kVerify
               : decided == 1 ? layers::Phase::kDecode
                              : layers::Phase::kKnown;
  work.wanted.resize(work.guesses + 1);
  std::iota(work.wanted.begin(), work.wanted.end(), static_cast<std::int32_t>(decided) - 1);
  return work;
}

std::size_t Scheduler::prompt_share(std::size_t rows) const {
  std::size_t share = options_.max_step_tokens - std::min(options_.max_step_tokens, rows);
  const double budget_ms = kPlannedShare * static_cast<double>(options_.inter_token_budget.count());
  if (rows > 0 && budget_ms > 0)
    while (share > kPiece && cost_.predict_ms(rows + share) > budget_ms) share -= kPiece;
  return std::max(share, kPiece);  // prompts never starve
}

void Scheduler::plan_prompts(std::vector<StepWork>& works, std::size_t budget) {
  std::vector<Sequence*> prompts;
  for (const Owned& sequence : running_)
    if (can_compute(*sequence) && !is_generating(*sequence)) prompts.push_back(sequence.get());
  while (budget > 0 && !prompts.empty()) {
    const auto key = [&](const Sequence* s) {
      return std::tuple(-s->request().priority, s->skipped >= kMostSkips ? 0 : 1,
                        s->pending() <= budget ? 0 : 1, s->last_served, s->ticket().arrival, s->choice());
    };
    const auto next = std::ranges::min_element(
        prompts, [&](const Sequence* a, const Sequence* b) { return key(a) < key(b); });
    Sequence& sequence = **next;
    std::optional<StepWork> work = prompt_work(sequence, budget);
    if (!work) break;  // less than a piece is left
    prompts.erase(next);
    budget -= std::min(budget, work->rows());
    sequence.last_served = stats_.steps + 1;
    sequence.skipped = 0;
    works.push_back(std::move(*work));
  }
  for (Sequence* sequence : prompts) ++sequence->skipped;
}

std::optional<StepWork> Scheduler::prompt_work(Sequence& sequence, std::size_t most_rows) const {
  const auto tokens = sequence.tokens();
  const std::size_t begin = sequence.computed();
  // Pieces end on the grid of pieces, where a checkpoint is wanted, and where the text ends.
  std::size_t end = std::min(tokens.size(), (begin / options_.prefill_chunk + 1) * options_.prefill_chunk);
  end = std::min(end, prefixes_.next_checkpoint(sequence, begin));
  if (end - begin > most_rows) end = (begin + most_rows) / kPiece * kPiece;
  if (end <= begin) return std::nullopt;

  StepWork work{.sequence = &sequence, .begin = begin};
  work.phase = begin < sequence.prompt_size() ? layers::Phase::kPrompt : layers::Phase::kKnown;
  work.ids.assign(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                  tokens.begin() + static_cast<std::ptrdiff_t>(end));
  const bool scores_prompt = sequence.request().prompt_logprobs && sequence.choice() == 0;
  for (std::size_t next = begin + 1; next <= end; ++next) {
    const bool scored =
        scores_prompt && next < sequence.prompt_size() && next > sequence.prompt_logprobs_sent;
    const bool decides = next == tokens.size() && next < sequence.ticket().token_limit;
    const bool pooled = sequence.pooled && sequence.pooled->wants(next - 1);
    if (scored || decides || pooled) work.wanted.push_back(static_cast<std::int32_t>(next - begin - 1));
  }
  return work;
}

bool Scheduler::try_reserve(Sequence& sequence, const SequenceSize& size) {
  const SequenceSize& held = sequence.reserved;
  const SequenceSize needed = {.tokens = std::max(held.tokens, size.tokens),
                               .draft_rows = std::max(held.draft_rows, size.draft_rows)};
  if (needed == held) return true;
  SequenceSize ahead = needed;
  if (size.tokens > held.tokens) {
    const std::size_t limit = sequence.ticket().token_limit;
    ahead.tokens =
        std::max(size.tokens, std::min(limit, size.tokens + options_.headroom_tokens.value_or(limit)));
  }
  return reserve(sequence, ahead) || reserve(sequence, needed);
}

bool Scheduler::reserve(Sequence& sequence, const SequenceSize& size) {
  if (!budget_.could_reserve(sequence.reserved, size)) return false;
  while (!budget_.reserve(sequence.reserved, size, prefixes_.size_bytes()))
    if (!prefixes_.evict_one()) return false;
  sequence.reserved = size;
  return true;
}

bool Scheduler::make_room(Sequence& sequence, std::size_t tokens) {
  while (!try_reserve(sequence, {.tokens = tokens})) {
    Sequence* victim = find_victim(sequence);
    preempt(*victim);
    if (victim == &sequence) return false;
  }
  return true;
}

Sequence* Scheduler::find_victim(const Sequence& urgent) {
  Sequence* last = nullptr;  // of those that may be preempted
  Sequence* last_of_all = nullptr;
  for (const Owned& sequence : running_) {
    if (!sequence->cache) continue;
    if (last_of_all == nullptr || is_more_urgent(*last_of_all, *sequence)) last_of_all = sequence.get();
    if (sequence->usage().preemptions >= kMostPreemptions || is_more_urgent(*sequence, urgent)) continue;
    if (last == nullptr || is_more_urgent(*last, *sequence)) last = sequence.get();
  }
  return last != nullptr ? last : last_of_all;
}

void Scheduler::preempt(Sequence& sequence) {
  budget_.release(sequence.reserved);
  sequence.reserved = {};
  sequence.cache.reset();
  ++sequence.usage().preemptions;
  ++stats_.preemptions;
  const auto at = std::ranges::find_if(running_, [&](const Owned& o) { return o.get() == &sequence; });
  Owned owned = std::move(*at);
  running_.erase(at);
  wait(std::move(owned));
}

}  // namespace lanner::engine
