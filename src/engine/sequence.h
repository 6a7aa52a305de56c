// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cache/sequence_cache.h"
#include "engine/answer_text.h"
#include "engine/draft_depth.h"
#include "engine/event.h"
#include "engine/loaded_model.h"
#include "engine/ngram_drafter.h"
#include "engine/pooling.h"
#include "engine/reasoning_marks.h"
#include "engine/request.h"
#include "engine/request_channel.h"
#include "engine/sampler.h"
#include "engine/sequence_memory.h"
#include "engine/timely_constraint.h"

namespace lanner::engine {

/// A request on its way through the engine: what its choices share.
struct Ticket {
  using Clock = std::chrono::steady_clock;

  Request request;
  std::shared_ptr<RequestChannel> channel;
  std::uint64_t arrival = 0;    ///< counts submissions
  std::size_t token_limit = 0;  ///< of a choice, prompt included
  Clock::time_point submitted = {};
  Clock::time_point started = {};
  Clock::time_point first_token = {};
  bool has_started = false;
  bool has_token = false;
  bool is_over = false;
  std::size_t open_choices = 0;
  Timings timings = {};
};

/// What sequences need of the model they run on.
struct SequenceModel {
  explicit SequenceModel(const LoadedModel& model);

  const LoadedModel& loaded;
  ReasoningMarks reasoning;
  const std::unique_ptr<ConstraintWorker> constraint_worker;
};

/// One choice of a request: its tokens so far and everything that follows from them. Whether a token was
/// fed, replayed, forced, guessed or sampled makes no difference to what comes after it, and neither does
/// when its constraint answered: a decision whose constraint is late is put off.
class Sequence {
 public:
  /// Until when a constraint may be waited for.
  using Deadline = TimelyConstraint::Deadline;

  Sequence(const SequenceModel& model, std::shared_ptr<Ticket> ticket, std::size_t choice);

  Ticket& ticket() const { return *ticket_; }
  const std::shared_ptr<Ticket>& shared_ticket() const { return ticket_; }
  const Request& request() const { return ticket_->request; }
  std::size_t choice() const { return choice_; }
  /// Prompt and decided tokens.
  std::span<const TokenId> tokens() const { return tokens_; }
  std::size_t prompt_size() const { return request().prompt.size(); }
  /// Tokens the cache holds.
  std::size_t computed() const { return cache ? cache->length() : 0; }
  /// Decided tokens the cache lacks; at least 1 while the sequence runs and has put off nothing.
  std::size_t pending() const { return tokens_.size() - computed(); }
  /// Nothing but the last decided token is left to compute.
  bool is_decoding() const { return pending() == 1 && tokens_.size() > prompt_size(); }

  /// Tokens that probably come next, to be computed in one forward with the last one: those that are forced
  /// and, if none, at most `depth` guesses.
  std::vector<TokenId> propose(std::size_t depth, Deadline until);
  /// Room for guesses that could still be used.
  std::size_t most_guesses() const;
  /// Decides the next token from the model's logits for its place; they are scratch after the call. Puts the
  /// decision off when the constraint is late at `until`. Throws Error kInternal for logits that are no
  /// numbers.
  void decide(std::span<float> logits, Deadline until);
  /// The decision about the next token was put off; what it needs of the model is kept.
  bool has_put_off() const { return !kept_logits_.empty(); }
  /// The constraint is late, whether a decision waits for it or not.
  bool is_late() const { return constraint_ != nullptr && constraint_->is_late(); }
  /// Waits while the constraint is late, at most until `until`.
  void wait_for_constraint(Deadline until) const { constraint_->wait(until); }
  /// Goes on where the constraint has been late and its answer has come: decides what was put off. Throws as
  /// decide().
  void go_on(Deadline until);
  /// The decision needs the model's logits again.
  void forget_put_off() { kept_logits_ = {}; }
  /// How a device decides the token after the next `ahead.size()` ones, provided that these are `ahead`, from
  /// a row of `columns` logits; nothing where the logits themselves are needed, or the constraint is late at
  /// `until`. Valid until the sequence changes.
  std::optional<device::SampleJob> ask_device(std::size_t columns, std::span<const TokenId> ahead,
                                              Deadline until);
  /// The same from what the device chose. Throws as the other does.
  void decide(const device::SampleResult& chosen, Deadline until);
  /// Ends the sequence as it is.
  void end(FinishReason reason);
  /// `accepted` of `drafted` guesses were right.
  void learn(std::size_t drafted, std::size_t accepted);

  /// Why the sequence ended; nothing while it runs.
  const std::optional<FinishReason>& finished() const { return finished_; }
  const ChoiceUsage& usage() const { return usage_; }
  ChoiceUsage& usage() { return usage_; }
  /// How long each mask took that the constraint found since the last call.
  std::vector<double> take_mask_seconds();
  /// What happened since the last call; ends with a ChoiceEnd when finished.
  std::vector<Event> take_events();

  // The scheduler's.
  std::optional<cache::SequenceCache> cache;
  SequenceSize reserved;                             ///< for which memory is set aside
  std::uint64_t last_served = 0;                     ///< step that computed some of the prompt
  std::size_t skipped = 0;                           ///< steps that passed over the prompt since
  std::optional<std::size_t> branch_point;           ///< where a checkpoint would have helped
  std::optional<PooledHidden> pooled;                ///< what the request wants instead of an answer
  std::size_t prompt_logprobs_sent = 0;              ///< prompt tokens, from the first on
  std::vector<std::unique_ptr<Sequence>> followers;  ///< other choices, waiting for this one's prompt
  DraftDepth depth;

 private:
  void take(TokenId id, std::optional<LogprobEntry> logprob, Deadline until);
  void take_forced(Deadline until);
  /// Tokens of a text without choice, up to one the request would rather not have: others may spell it too.
  std::vector<TokenId> wanted_of(std::vector<TokenId> forced) const;
  void force_what_follows(TokenId id, AnswerPart before, Deadline until);
  void constrain();
  /// Whether the constraint, if it has to, has said what may come next; then mask_ says it.
  bool can_decide(std::size_t columns, Deadline until);
  bool catch_up(Deadline until);
  /// When no token is left: the answer's end where its constraint allows one, else Error kInvalidArgument.
  void end_without_choice();
  bool is_constrained() const { return constraint_ != nullptr && !text_.in_reasoning(); }
  std::vector<TokenId> banned_after(std::size_t generated) const;
  bool is_stop(TokenId id) const;
  std::size_t generated() const { return tokens_.size() - prompt_size(); }

  const SequenceModel& model_;
  std::shared_ptr<Ticket> ticket_;
  std::size_t choice_;
  std::vector<TokenId> tokens_;
  Sampler sampler_;
  AnswerText text_;
  std::unique_ptr<TimelyConstraint> constraint_;
  std::span<const std::uint64_t> mask_;      ///< the constraint's, or opening_mask_
  std::vector<std::uint64_t> opening_mask_;  ///< where opener_ may come too
  std::vector<float> kept_logits_;           ///< of the decision that was put off
  NgramDrafter drafter_;
  std::vector<TokenId> stop_ids_;             ///< that end the answer or, before min_tokens, are banned
  std::vector<TokenId> banned_;               ///< end-of-text tokens that may never come
  std::vector<TokenId> banned_in_reasoning_;  ///< would end it where no content is allowed yet
  std::optional<TokenId> opener_;             ///< may come first and begins reasoning
  std::vector<TokenId> forced_;               ///< decided, but not yet taken
  std::size_t unconstrained_ = 0;             ///< how many of them come before the constraint begins
  bool reasoning_closed_ = false;             ///< the budget was used up
  std::optional<TokenId> stop_id_;
  std::optional<FinishReason> finished_;
  ChoiceUsage usage_;
  std::vector<Event> events_;
};

}  // namespace lanner::engine
