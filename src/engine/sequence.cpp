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

SequenceModel::SequenceModel(const LoadedModel& model) : loaded(model), reasoning(model.tokenizer()) {}

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
  constraint_ = request().constraint();
  if (request().thinking_budget != 0)
    opener_ = reasoning_opener(model_.loaded.tokenizer(), request().form, request().prompt);
  banned_in_reasoning_ = model_.loaded.defaults().stop_ids;
  const std::optional<TokenId> call = model_.reasoning.call;
  if (call && constraint_->accept(*call))
    constraint_->rollback(1);
  else if (call)
    banned_in_reasoning_.push_back(*call);
}

bool Sequence::is_stop(TokenId id) const { return std::ranges::find(stop_ids_, id) != stop_ids_.end(); }

std::size_t Sequence::most_guesses() const {
  const std::size_t left = ticket_->token_limit - tokens_.size();
  return std::min({request().draft_tokens, left > 0 ? left - 1 : 0, cache::SequenceCache::kMaxDraft - 1});
}

std::vector<TokenId> Sequence::propose(std::size_t depth) {
  if (!forced_.empty()) {
    std::vector<TokenId> known = forced_;
    known.resize(std::min(known.size(), cache::SequenceCache::kMaxDraft - 1));
    return known;
  }
  std::vector<TokenId> guesses =
      request().draft_source ? request().draft_source(tokens_, depth) : drafter_.propose(tokens_, depth);
  guesses.resize(std::min(guesses.size(), depth));
  if (constraint_ == nullptr || text_.in_reasoning()) return guesses;
  std::size_t allowed = 0;
  while (allowed < guesses.size() && constraint_->accept(guesses[allowed])) ++allowed;
  constraint_->rollback(allowed);
  guesses.resize(allowed);
  return guesses;
}

void Sequence::fill_mask(std::size_t columns) {
  mask_.resize((columns + 63) / 64);
  const auto begin = Ticket::Clock::now();
  constraint_->fill_mask(mask_);
  mask_seconds.push_back(std::chrono::duration<double>(Ticket::Clock::now() - begin).count());
  if (opener_ && generated() == 0 && static_cast<std::size_t>(*opener_) < columns)
    text::grammar::allow_token(mask_, *opener_);
}

bool Sequence::mask(std::span<float> logits) {
  fill_mask(logits.size());
  bool any = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if ((mask_[i / 64] >> (i % 64) & 1U) == 0) logits[i] = kNever;
    any = any || logits[i] != kNever;
  }
  return any;
}

std::vector<TokenId> Sequence::banned_after(std::size_t generated) const {
  std::vector<TokenId> banned = banned_;
  if (generated < request().min_tokens) banned.insert(banned.end(), stop_ids_.begin(), stop_ids_.end());
  if (constraint_ != nullptr && text_.in_reasoning())
    banned.insert(banned.end(), banned_in_reasoning_.begin(), banned_in_reasoning_.end());
  return banned;
}

std::optional<device::SampleJob> Sequence::ask_device(std::size_t columns, std::span<const TokenId> ahead) {
  // Where guesses are assumed, what a constraint or a forced token would say is not known yet.
  if (!sampler_.fits_device() || (!ahead.empty() && (constraint_ != nullptr || request().top_logprobs)))
    return std::nullopt;
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
  if (is_constrained()) {
    fill_mask(columns);
    job.allowed = mask_;
  }
  job.draw = sampler_.draw_after(history);
  return job;
}

void Sequence::decide(const device::SampleResult& chosen) {
  if (finished_) return;
  if (chosen.not_a_number) refuse_not_a_number();
  if (!forced_.empty()) {
    forced_.erase(forced_.begin());
  } else if (chosen.none_left) {
    return end_without_choice();
  }
  std::optional<LogprobEntry> entry;
  if (request().top_logprobs) entry = logprob_entry(chosen);
  take(chosen.id, std::move(entry));
  if (!request().top_logprobs) take_forced();
}

void Sequence::decide(std::span<float> logits) {
  if (finished_) return;
  const History history{.tokens = tokens_, .prompt_tokens = prompt_size()};
  sampler_.adjust(logits, history, banned_after(generated()));
  std::vector<float> adjusted;
  if (request().top_logprobs) adjusted.assign(logits.begin(), logits.end());

  std::optional<TokenId> id;
  if (!forced_.empty()) {
    id = forced_.front();
    forced_.erase(forced_.begin());
  } else if (!is_constrained() || mask(logits)) {
    id = sampler_.pick(logits, history);
  }
  if (!id) return end_without_choice();
  std::optional<LogprobEntry> entry;
  if (request().top_logprobs) entry = logprob_entry(adjusted, *id, *request().top_logprobs);
  take(*id, std::move(entry));
  // Log-probabilities of forced tokens need their logits, so they wait for their rows.
  if (!request().top_logprobs) take_forced();
}

void Sequence::end_without_choice() {
  // Complete, and the ends it allows are banned: nothing can follow. Otherwise the request banned what its
  // own constraint asks for.
  if (is_constrained() && constraint_->can_end()) return end(FinishReason::kStop);
  refuse_nothing_left();
}

void Sequence::take_forced() {
  while (!forced_.empty() && !finished_) {
    const TokenId id = forced_.front();
    forced_.erase(forced_.begin());
    take(id, std::nullopt);
  }
}

void Sequence::take(TokenId id, std::optional<LogprobEntry> logprob) {
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
  force_what_follows(id, reasoning ? AnswerPart::kReasoning : AnswerPart::kContent);
}

void Sequence::force_what_follows(TokenId id, AnswerPart before) {
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
  if (!constraint_->accept(id))
    throw Error(ErrorKind::kInternal, "a token was chosen that the answer's grammar does not allow");
  if (forced_.empty()) forced_ = constraint_->forced();
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
