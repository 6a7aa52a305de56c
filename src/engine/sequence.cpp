// SPDX-License-Identifier: MIT
#include "engine/sequence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "engine/token_logprobs.h"
#include "text/grammar/token_mask.h"

namespace lanner::engine {
namespace {

Sampler make_sampler(const LoadedModel& model, const Request& request, std::size_t choice) {
  SamplingOptions options = request.sampling;
  options.choice = static_cast<std::uint32_t>(choice);
  const text::Tokenizer& tokenizer = model.tokenizer();
  TokenLimits limits{.vocabulary = tokenizer.vocab_size(), .suppressed = model.defaults().suppressed};
  limits.xtc_exempt = model.defaults().stop_ids;
  for (TokenId id : tokenizer.encode("\n")) limits.xtc_exempt.push_back(id);
  if (options.dry.multiplier != 0)
    limits.breakers = std::make_shared<const DryBreakers>(tokenizer, options.dry.breakers);
  return {std::move(options), std::move(limits)};
}

}  // namespace

SequenceModel::SequenceModel(const LoadedModel& model)
    : loaded(model), reasoning(model.tokenizer()), constraint_worker(std::make_unique<ConstraintWorker>()) {}

Sequence::Sequence(const SequenceModel& model, std::shared_ptr<Ticket> ticket, std::size_t choice)
    : model_(model),
      ticket_(std::move(ticket)),
      choice_(choice),
      tokens_(request().prompt),
      sampler_(make_sampler(model.loaded, request(), choice)),
      text_(model.loaded.tokenizer(), request()),
      stop_ids_(request().stop_ids) {
  if (request().pooling) pooled.emplace(*request().pooling, prompt_size());
  const std::vector<TokenId>& ends = model.loaded.defaults().stop_ids;
  std::vector<TokenId>& role = request().end_of_text == EndOfText::kStops ? stop_ids_ : banned_;
  role.insert(role.end(), ends.begin(), ends.end());
  if (request().constraint) constrain();
  if (text_.in_reasoning() && request().thinking_budget == 0) {
    forced_ = model_.reasoning.close;
    reasoning_closed_ = true;
  }
}

void Sequence::constrain() {
  std::unique_ptr<TokenConstraint> constraint = request().constraint();
  if (request().thinking_budget != 0)
    opener_ = reasoning_opener(model_.loaded.tokenizer(), request().form, request().prompt);
  banned_in_reasoning_ = model_.loaded.defaults().stop_ids;
  const std::optional<TokenId> call = model_.reasoning.call;
  if (call && constraint->accept(*call, std::nullopt))
    constraint->rollback(1);
  else if (call)
    banned_in_reasoning_.push_back(*call);
  constraint_ = std::make_unique<TimelyConstraint>(std::move(constraint), *model_.constraint_worker);
}

bool Sequence::is_stop(TokenId id) const { return std::ranges::find(stop_ids_, id) != stop_ids_.end(); }

std::size_t Sequence::most_guesses() const {
  const std::size_t left = ticket_->token_limit - tokens_.size();
  return std::min({request().draft_tokens, left > 0 ? left - 1 : 0, cache::SequenceCache::kMaxDraft - 1});
}

std::vector<TokenId> Sequence::propose(std::size_t depth, Deadline until) {
  if (!forced_.empty()) {
    std::vector<TokenId> known = forced_;
    known.resize(std::min(known.size(), cache::SequenceCache::kMaxDraft - 1));
    return known;
  }
  std::vector<TokenId> guesses =
      request().draft_source ? request().draft_source(tokens_, depth) : drafter_.propose(tokens_, depth);
  guesses.resize(std::min(guesses.size(), depth));
  if (constraint_ == nullptr || text_.in_reasoning()) return guesses;
  guesses.resize(constraint_->count_allowed(guesses, until));
  return guesses;
}

bool Sequence::catch_up(Deadline until) {
  if (!constraint_->catch_up(until)) return false;
  if (forced_.empty()) forced_ = wanted_of(constraint_->take_forced());
  return true;
}

bool Sequence::can_decide(std::size_t columns, Deadline until) {
  if (constraint_ == nullptr) return true;
  if (!catch_up(until)) return false;
  if (!forced_.empty() || !is_constrained()) return true;
  mask_ = constraint_->mask(columns, until);
  if (mask_.empty()) return false;
  if (opener_ && generated() == 0 && static_cast<std::size_t>(*opener_) < columns) {
    opening_mask_.assign(mask_.begin(), mask_.end());
    text::grammar::allow_token(opening_mask_, *opener_);
    mask_ = opening_mask_;
  }
  return true;
}

void Sequence::go_on(Deadline until) {
  if (!is_late() || !catch_up(Ticket::Clock::now())) return;
  if (has_put_off()) {
    std::vector<float> logits = std::exchange(kept_logits_, {});
    decide(logits, until);
  } else if (!request().top_logprobs) {
    take_forced(until);
  }
}

std::vector<double> Sequence::take_mask_seconds() {
  return constraint_ != nullptr ? constraint_->take_mask_seconds() : std::vector<double>();
}

std::vector<TokenId> Sequence::banned_after(std::size_t generated) const {
  std::vector<TokenId> banned = banned_;
  if (generated < request().min_tokens) banned.insert(banned.end(), stop_ids_.begin(), stop_ids_.end());
  if (constraint_ != nullptr && text_.in_reasoning())
    banned.insert(banned.end(), banned_in_reasoning_.begin(), banned_in_reasoning_.end());
  return banned;
}

std::optional<device::SampleJob> Sequence::ask_device(std::size_t columns, std::span<const TokenId> ahead,
                                                      Deadline until) {
  // Where guesses are assumed, what a constraint or a forced token would say is not known yet.
  if (!sampler_.fits_device() || (!ahead.empty() && (constraint_ != nullptr || request().top_logprobs)))
    return std::nullopt;
  if (ahead.empty() && !can_decide(columns, until)) return std::nullopt;
  std::vector<TokenId> tokens = tokens_;
  tokens.insert(tokens.end(), ahead.begin(), ahead.end());
  const History history{.tokens = tokens, .prompt_tokens = prompt_size()};
  device::SampleJob job{
      .vocabulary = sampler_.vocabulary(),
      .edits = sampler_.edits(columns, history, banned_after(generated() + ahead.size())).list(),
      .top_logprobs = request().top_logprobs};
  if (!forced_.empty()) {
    job.given = forced_.front();
    return job;
  }
  if (is_constrained()) job.allowed = mask_;
  job.draw = sampler_.draw_after(history);
  return job;
}

void Sequence::decide(const device::SampleResult& chosen, Deadline until) {
  if (finished_) return;
  if (chosen.not_a_number) throw NotFinite();
  if (!forced_.empty()) {
    forced_.erase(forced_.begin());
  } else if (chosen.none_left) {
    return end_without_choice();
  }
  std::optional<LogprobEntry> entry;
  if (request().top_logprobs) entry = logprob_entry(chosen);
  take(chosen.id, std::move(entry), until);
  if (!request().top_logprobs) take_forced(until);
}

void Sequence::decide(std::span<float> logits, Deadline until) {
  if (finished_) return;
  if (!can_decide(logits.size(), until)) return kept_logits_.assign(logits.begin(), logits.end());
  forget_put_off();
  const History history{.tokens = tokens_, .prompt_tokens = prompt_size()};
  const Isa isa = model_.loaded.ops().isa;
  LogitBlocks row(logits, isa);
  sampler_.adjust(row, history, banned_after(generated()));
  std::vector<float> unmasked;
  if (request().top_logprobs && is_constrained()) unmasked.assign(logits.begin(), logits.end());

  TokenId id = 0;
  if (!forced_.empty()) {
    id = forced_.front();
    forced_.erase(forced_.begin());
  } else {
    if (is_constrained()) row.keep(mask_);
    if (row.value(row.top()) == kNever) return end_without_choice();
    id = sampler_.pick(row, history);
  }
  if (!unmasked.empty()) row = LogitBlocks(unmasked, isa);
  std::optional<LogprobEntry> entry;
  if (request().top_logprobs) entry = logprob_entry(row, id, *request().top_logprobs);
  take(id, std::move(entry), until);
  // Log-probabilities of forced tokens need their logits, so they wait for their rows.
  if (!request().top_logprobs) take_forced(until);
}

void Sequence::end_without_choice() {
  // Complete, and the ends it allows are banned: nothing can follow. Otherwise the request banned what its
  // own constraint asks for.
  if (is_constrained() && constraint_->can_end()) return end(FinishReason::kStop);
  refuse_nothing_left();
}

void Sequence::take_forced(Deadline until) {
  while (!forced_.empty() && !finished_ && !is_late()) {
    const TokenId id = forced_.front();
    forced_.erase(forced_.begin());
    take(id, std::nullopt, until);
  }
}

std::vector<TokenId> Sequence::wanted_of(std::vector<TokenId> forced) const {
  const auto& biases = request().sampling.logit_bias;
  const auto is_unwanted = [&](TokenId id) {
    const auto bias = biases.find(id);
    return bias != biases.end() && bias->second < 0;
  };
  forced.erase(std::ranges::find_if(forced, is_unwanted), forced.end());
  return forced;
}

void Sequence::take(TokenId id, std::optional<LogprobEntry> logprob, Deadline until) {
  if (is_stop(id)) {
    stop_id_ = id;
    return end(FinishReason::kStop);
  }
  tokens_.push_back(id);
  ++usage_.generated_tokens;
  const bool reasoning = text_.in_reasoning();
  TokenEvent event{.choice = choice_, .id = id, .logprob = std::move(logprob), .text = text_.push(id)};
  event.part = text_.part();
  events_.emplace_back(std::move(event));
  if (reasoning) ++usage_.reasoning_tokens;
  if (text_.stopped_at()) return end(FinishReason::kStop);
  if (tokens_.size() >= ticket_->token_limit) return end(FinishReason::kLength);
  force_what_follows(id, reasoning ? AnswerPart::kReasoning : AnswerPart::kContent, until);
}

void Sequence::force_what_follows(TokenId id, AnswerPart before, Deadline until) {
  if (text_.in_reasoning()) {
    const bool spent = request().thinking_budget && usage_.reasoning_tokens >= *request().thinking_budget;
    if (!reasoning_closed_ && (spent || ticket_->channel->is_reasoning_over())) {
      forced_ = model_.reasoning.close;
      reasoning_closed_ = true;
    }
    return;
  }
  if (constraint_ == nullptr) return;
  if (before == AnswerPart::kReasoning && id != model_.reasoning.call) {
    // The model expects what follows the end marker before content; the constraint knows only content.
    if (forced_.empty()) forced_ = model_.reasoning.behind;
    unconstrained_ = forced_.size();
    return;
  }
  if (unconstrained_ > 0) {
    --unconstrained_;
    return;
  }
  if (!forced_.empty()) return constraint_->accept_known(id, until);
  constraint_->accept(id, until);
  forced_ = wanted_of(constraint_->take_forced());
}

void Sequence::end(FinishReason reason) {
  ChoiceEnd event{
      .choice = choice_, .reason = reason, .stop_string = {}, .stop_id = stop_id_, .text = {}, .usage = {}};
  event.text = text_.finish();
  event.stop_string = text_.stopped_at();
  if (event.stop_string) event.reason = FinishReason::kStop;
  if (pooled && event.reason == FinishReason::kLength) events_.emplace_back(Embedding{pooled->result()});
  finished_ = event.reason;
  events_.emplace_back(std::move(event));
}

std::vector<Event> Sequence::take_events() {
  // What the last step's guesses came to was not known when it ended.
  if (auto* end = events_.empty() ? nullptr : std::get_if<ChoiceEnd>(&events_.back())) end->usage = usage_;
  return std::exchange(events_, {});
}

void Sequence::learn(std::size_t drafted, std::size_t accepted) {
  usage_.drafted_tokens += drafted;
  usage_.accepted_tokens += accepted;
  depth.learn(drafted, accepted);
}

}  // namespace lanner::engine
