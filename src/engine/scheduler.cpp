// SPDX-License-Identifier: MIT
#include "engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "io/message_text.h"

namespace lanner::engine {
namespace {

double seconds(Ticket::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// What is left for caches on this machine; the model's own memory is taken already.
std::size_t bytes_for_caches(const MemoryPlan& plan, const device::Ops& ops, std::size_t users) {
  const std::size_t others = plan.weights().mapped_bytes + plan.step_bytes(users);
  const std::size_t usable = usable_bytes(ops);
  return usable - std::min(usable, others);
}

StepKind kind_of(const std::vector<StepWork>& works) {
  bool guesses = false, prompts = false, others = false;
  for (const StepWork& work : works) {
    guesses = guesses || work.guesses > 0;
    (work.begin < work.sequence->prompt_size() ? prompts : others) = true;
  }
  if (guesses) return StepKind::kVerify;
  if (!prompts) return StepKind::kDecode;
  return others ? StepKind::kMixed : StepKind::kPrompt;
}

}  // namespace

bool is_more_urgent(const Sequence& a, const Sequence& b) {
  const auto key = [](const Sequence& s) {
    return std::tuple(s.ticket().channel->has_room() ? 0 : 1, -s.request().priority, s.ticket().arrival,
                      s.choice());
  };
  return key(a) < key(b);
}

Scheduler::Scheduler(const LoadedModel& model, const EngineOptions& options)
    : model_(model),
      options_(options),
      sequence_model_(model),
      cache_spec_(model.cache_spec()),
      plan_(model.model(), model.ops(), cache_spec_,
            {.rows = options.max_step_tokens,
             .wanted = options.max_sequences,
             .context = model.model().facts().context,
             .threads = options.threads}),
      budget_(plan_.sequence(), options.cache_bytes
                                    ? *options.cache_bytes
                                    : bytes_for_caches(plan_, model.ops(), options.max_sequences)),
      cache_bytes_without_adapters_(budget_.total_bytes()),
      pool_(cache::BlockPool::kUnlimited, *model.ops().memory),
      prefixes_(model, options, options.prefix_bytes.value_or(budget_.total_bytes() / 2)),
      runner_(model, {.threads = options.threads,
                      .workspace_bytes = plan_.workspace().arena_bytes(options.max_sequences),
                      .choose_on_device = options.choose_on_device,
                      .mask_deadline = options.mask_deadline}) {}

void Scheduler::add(const std::shared_ptr<Ticket>& ticket) {
  if (budget_.needed_bytes({.tokens = ticket->token_limit}) > budget_.total_bytes())
    throw Error(ErrorKind::kOutOfMemory, "an adapter took the memory that this request needs; try again");
  const std::size_t choices = std::max<std::size_t>(ticket->request.choices, 1);
  ticket->open_choices = choices;
  auto leader = std::make_unique<Sequence>(sequence_model_, ticket, 0);
  for (std::size_t choice = 1; choice < choices; ++choice)
    leader->followers.push_back(std::make_unique<Sequence>(sequence_model_, ticket, choice));
  ++stats_.queued;
  wait(std::move(leader));
}

void Scheduler::start_waiting() {
  sweep();
  admit();
}

bool Scheduler::step() {
  const Sequence::Deadline until = Clock::now() + options_.mask_deadline;
  const std::size_t running = running_.size();
  go_on_late(until);
  std::vector<StepWork> works = plan_step(until);
  // Whoever ended or lost its caches until here left room for those that wait.
  if (works.empty()) return running_.size() < running || wait_for_late();
  const StepKind kind = kind_of(works);
  const auto begin = Clock::now();
  runner_.run(works);
  const double elapsed = seconds(Clock::now() - begin);
  std::size_t rows = 0;
  for (const StepWork& work : works) rows += work.rows();
  cost_.add(rows, 1000 * elapsed);
  ++stats_.steps;
  stats_.step_seconds += elapsed;
  stats_.step_times[static_cast<std::size_t>(kind)].add(elapsed);
  stats_.step_rows.add(static_cast<double>(rows));
  settle(works);
  return true;
}

void Scheduler::expire(Ticket& ticket, Clock::time_point now) {
  const auto age = now - ticket.submitted;
  if (!ticket.has_started && ticket.request.queue_timeout && age >= *ticket.request.queue_timeout)
    fail(ticket, {.kind = FailureKind::kQueueTimeout,
                  .message = "the request waited longer for its turn than it was willing to"});
  else if (ticket.request.timeout && age >= *ticket.request.timeout)
    fail(ticket, {.kind = FailureKind::kDeadline, .message = "the request took longer than it was given"});
}

void Scheduler::sweep() {
  const auto now = Clock::now();
  for (std::vector<Owned>* list : {&running_, &waiting_}) {
    for (Owned& sequence : *list) {
      Ticket& ticket = sequence->ticket();
      if (!ticket.is_over) expire(ticket, now);
      if (ticket.is_over || sequence->finished() || !ticket.channel->is_cancelled()) continue;
      for (Owned& follower : sequence->followers) follower->end(FinishReason::kCancelled);
      sequence->end(FinishReason::kCancelled);
    }
    remove_over(*list);
  }
  trim_prefixes();
}

/// What was stored may not crowd out what was promised to running sequences.
void Scheduler::trim_prefixes() {
  while (budget_.reserved_bytes() + prefixes_.size_bytes() > budget_.total_bytes() && prefixes_.evict_one()) {
  }
}

void Scheduler::remove_over(std::vector<Owned>& sequences) {
  std::vector<Owned> over;
  for (Owned& sequence : sequences)
    if (sequence->finished() || sequence->ticket().is_over) over.push_back(std::move(sequence));
  std::erase(sequences, nullptr);
  for (Owned& sequence : over) retire(std::move(sequence));
}

void Scheduler::fail(Ticket& ticket, Failure failure) {
  if (ticket.is_over) return;
  ticket.is_over = true;
  ++stats_.failed;
  if (!ticket.has_started) --stats_.queued;
  endings_.push_back({ticket.channel, std::move(failure)});
}

bool Scheduler::can_start(Sequence& sequence) {
  if (running_.size() >= options_.max_sequences) return false;
  const std::size_t limit = sequence.ticket().token_limit;
  const std::size_t ahead = options_.headroom_tokens.value_or(limit);
  return reserve(sequence, {.tokens = std::min(limit, sequence.tokens().size() + ahead)});
}

void Scheduler::admit() {
  for (;;) {
    const auto next =
        std::ranges::find_if(waiting_, [](const Owned& one) { return one->ticket().channel->has_room(); });
    if (next == waiting_.end() || !can_start(**next)) return;
    (*next)->cache.emplace(first_caches(**next));
    Owned sequence = std::move(*next);
    waiting_.erase(next);
    start(std::move(sequence));
  }
}

cache::SequenceCache Scheduler::first_caches(Sequence& sequence) {
  std::optional<cache::SequenceCache> found = prefixes_.find(sequence);
  if (!found) return cache::SequenceCache(cache_spec_, pool_);
  stats_.cached_prompt_tokens += found->length();
  Ticket& ticket = sequence.ticket();
  if (!ticket.has_started) ticket.timings.cached_tokens = std::min(found->length(), sequence.prompt_size());
  found->own_states();
  return std::move(*found);
}

void Scheduler::start(Owned sequence) {
  Ticket& ticket = sequence->ticket();
  if (!ticket.has_started) {
    ticket.has_started = true;
    ticket.started = Clock::now();
    --stats_.queued;
  }
  running_.push_back(std::move(sequence));
}

void Scheduler::wait(Owned sequence) {
  sequence->forget_put_off();
  const auto place =
      std::ranges::find_if(waiting_, [&](const Owned& other) { return is_more_urgent(*sequence, *other); });
  waiting_.insert(place, std::move(sequence));
}

void Scheduler::deliver(Sequence& sequence) {
  for (const double taken : sequence.take_mask_seconds()) stats_.mask_times.add(taken);
  Ticket& ticket = sequence.ticket();
  if (ticket.is_over) return;
  for (Event& event : sequence.take_events()) {
    if (!ticket.has_token && std::holds_alternative<TokenEvent>(event)) {
      ticket.has_token = true;
      ticket.first_token = Clock::now();
    }
    if (std::holds_alternative<TokenEvent>(event)) ++stats_.generated_tokens;
    ticket.channel->push(std::move(event));
  }
}

/// Takes a sequence that ended, or whose request did, out of the engine.
void Scheduler::retire(Owned sequence) {
  Ticket& ticket = sequence->ticket();
  if (sequence->cache && sequence->finished()) prefixes_.at_end(*sequence);
  budget_.release(sequence->reserved);
  std::vector<Owned> followers = std::move(sequence->followers);
  for (Owned& follower : followers) retire(std::move(follower));
  if (ticket.is_over) return;
  deliver(*sequence);
  ticket.timings.generated_tokens += sequence->usage().generated_tokens;
  ++(*sequence->finished() == FinishReason::kStop     ? stats_.finished_stop
     : *sequence->finished() == FinishReason::kLength ? stats_.finished_length
                                                      : stats_.cancelled);
  if (--ticket.open_choices > 0) return;
  const auto now = Clock::now();
  ticket.is_over = true;
  if (!ticket.has_started) {
    --stats_.queued;
    ticket.started = now;
  }
  Timings& timings = ticket.timings;
  const auto first = ticket.has_token ? ticket.first_token : now;
  timings.prompt_tokens = ticket.request.prompt.size();
  timings.queue_seconds = seconds(ticket.started - ticket.submitted);
  timings.prompt_seconds = seconds(first - ticket.started);
  timings.decode_seconds = seconds(now - first);
  endings_.push_back({ticket.channel, RequestEnd{timings}});
  constexpr double kMemory = 0.9;
  if (last_end_ != Clock::time_point())
    stats_.seconds_per_request =
        kMemory * stats_.seconds_per_request + (1 - kMemory) * seconds(now - last_end_);
  last_end_ = now;
}

void Scheduler::release_followers(Sequence& leader) {
  std::vector<Owned> followers = std::move(leader.followers);
  for (Owned& follower : followers) {
    deliver(*follower);
    if (follower->finished()) {
      retire(std::move(follower));
    } else if (leader.computed() == leader.prompt_size() && can_start(*follower)) {
      follower->cache.emplace(leader.cache->fork());
      follower->cache->own_states();
      start(std::move(follower));
    } else {
      wait(std::move(follower));
    }
  }
}

void Scheduler::take_state(Sequence& sequence) {
  Ticket& ticket = sequence.ticket();
  try {
    ticket.channel->push(PromptState{std::make_shared<const StateImage>(prefixes_.image(sequence))});
  } catch (const std::bad_alloc&) {
    fail(ticket, {.error = ErrorKind::kOutOfMemory, .message = "memory ran out while a state was copied"});
  }
}

std::size_t Scheduler::restore(std::span<const std::byte> file, std::string_view source,
                               const AdapterSet* adapters) {
  const std::size_t tokens = prefixes_.restore(file, source, pool_, adapters);
  trim_prefixes();
  return tokens;
}

/// Bytes that the largest request in work may need for itself.
std::size_t Scheduler::most_promised() const {
  std::size_t most = 0;
  for (const std::vector<Owned>* list : {&running_, &waiting_})
    for (const Owned& sequence : *list)
      most = std::max(most, budget_.needed_bytes({.tokens = sequence->ticket().token_limit}));
  return most;
}

/// Rows with adapters have the inputs of an activation beside its output.
std::size_t Scheduler::adapter_step_bytes() const {
  std::size_t widest = 0;
  for (const layers::LinearTarget& target : model_.model().facts().targets)
    if (target.path.ends_with("gate_proj")) widest = std::max(widest, target.out);
  return options_.max_step_tokens * widest * sizeof(float);
}

void Scheduler::take_adapter_bytes(std::size_t bytes) {
  const std::size_t all = adapter_bytes_ + bytes;
  const std::size_t held = std::max(budget_.reserved_bytes(), most_promised());
  if (!options_.cache_bytes && all + adapter_step_bytes() + held > cache_bytes_without_adapters_)
    throw Error(
        ErrorKind::kOutOfMemory,
        fmt::format("the adapter takes {}; of the memory for caches ({}) requests were promised {} and "
                    "other adapters have {}",
                    io::readable_size(bytes), io::readable_size(cache_bytes_without_adapters_),
                    io::readable_size(held), io::readable_size(adapter_bytes_)));
  set_adapter_bytes(all);
}

void Scheduler::give_adapter_bytes(std::size_t bytes) { set_adapter_bytes(adapter_bytes_ - bytes); }

void Scheduler::set_adapter_bytes(std::size_t bytes) {
  adapter_bytes_ = bytes;
  if (options_.cache_bytes) return;
  const std::size_t taken = bytes == 0 ? 0 : bytes + adapter_step_bytes();
  budget_.set_total_bytes(cache_bytes_without_adapters_ - taken);
  trim_prefixes();
}

void Scheduler::settle(std::vector<StepWork>& works) {
  for (StepWork& work : works) {
    Sequence& sequence = *work.sequence;
    Ticket& ticket = sequence.ticket();
    if (work.failure) fail(ticket, *work.failure);
    if (work.phase == layers::Phase::kPrompt || work.phase == layers::Phase::kKnown)
      stats_.computed_prompt_tokens += work.rows();
    if (!work.prompt_logprobs.empty()) {
      const std::size_t first = sequence.prompt_logprobs_sent + 1;
      sequence.prompt_logprobs_sent += work.prompt_logprobs.size();
      ticket.channel->push(PromptLogprobs{first, std::move(work.prompt_logprobs)});
    }
    if (work.begin < sequence.prompt_size() && !ticket.has_token && !ticket.is_over)
      ticket.channel->push(PromptProgress{.done = std::min(sequence.computed(), sequence.prompt_size()),
                                          .total = sequence.prompt_size(),
                                          .cached = ticket.timings.cached_tokens});
    if (sequence.computed() == sequence.ticket().token_limit && !sequence.finished()) {
      if (sequence.request().wants_state) take_state(sequence);
      for (Owned& follower : sequence.followers) follower->end(FinishReason::kLength);
      sequence.end(FinishReason::kLength);
    }
    for (std::size_t i = 0; i < std::min(work.guesses, DraftDepth::kDeepest); ++i) {
      ++stats_.drafted[i];
      if (sequence.computed() > work.begin + work.rows() - work.guesses + i) ++stats_.accepted[i];
    }
    prefixes_.after_step(sequence);
    deliver(sequence);
    if (sequence.has_put_off()) ++stats_.put_off;
    if (sequence.tokens().size() > sequence.prompt_size() || sequence.finished() || sequence.has_put_off())
      release_followers(sequence);
  }
  remove_over(running_);
  trim_prefixes();
}

std::optional<Scheduler::Clock::time_point> Scheduler::next_deadline() const {
  std::optional<Clock::time_point> next;
  const auto consider = [&](const Ticket& ticket, std::optional<std::chrono::milliseconds> timeout) {
    if (timeout && (!next || ticket.submitted + *timeout < *next)) next = ticket.submitted + *timeout;
  };
  for (const std::vector<Owned>* list : {&running_, &waiting_})
    for (const Owned& sequence : *list) {
      const Ticket& ticket = sequence->ticket();
      consider(ticket, ticket.request.timeout);
      if (!ticket.has_started) consider(ticket, ticket.request.queue_timeout);
    }
  return next;
}

void Scheduler::cancel_all() {
  for (std::vector<Owned>* list : {&running_, &waiting_})
    for (Owned& sequence : *list) sequence->ticket().channel->cancel();
  sweep();
}

void Scheduler::fail_all(const Failure& failure) {
  for (std::vector<Owned>* list : {&running_, &waiting_}) {
    for (Owned& sequence : *list) fail(sequence->ticket(), failure);
    remove_over(*list);
  }
}

EngineStats Scheduler::stats() const {
  EngineStats stats = stats_;
  stats.running = running_.size();
  stats.waiting = waiting_.size();
  stats.preempted = static_cast<std::size_t>(
      std::ranges::count_if(waiting_, [](const Owned& s) { return s->usage().preemptions > 0; }));
  stats.reserved = budget_.reserved();
  stats.cache_bytes = budget_.reserved_bytes();
  stats.cache_total_bytes = budget_.total_bytes();
  stats.used_bytes = pool_.used_bytes();
  stats.peak_bytes = pool_.peak_bytes();
  stats.workspace_bytes = runner_.workspace_bytes();
  stats.adapter_bytes = adapter_bytes_;
  stats.prefixes = prefixes_.stats();
  return stats;
}

}  // namespace lanner::engine
