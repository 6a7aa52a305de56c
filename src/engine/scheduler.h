// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cache_budget.h"
#include "engine/engine_options.h"
#include "engine/engine_stats.h"
#include "engine/loaded_model.h"
#include "engine/memory_plan.h"
#include "engine/prefix_reuse.h"
#include "engine/sequence.h"
#include "engine/step_cost.h"
#include "engine/step_runner.h"

namespace lanner::engine {

/// Decides which sequences compute what in each forward. Every running sequence that generates gets its rows
/// in every step; prompts share what is left, piece by piece in turn. Sequences start when memory for them
/// can be set aside; when it runs short later, the least urgent lose their caches, wait, and are replayed.
/// None of this changes what a sequence says. Used from one thread.
class Scheduler {
 public:
  using Clock = Ticket::Clock;

  struct Ending {
    std::shared_ptr<RequestChannel> channel;
    Event event;
  };

  Scheduler(const LoadedModel& model, const EngineOptions& options);

  /// Takes a request whose fields were checked and whose token limit fits context and memory.
  void add(const std::shared_ptr<Ticket>& ticket);
  /// Ends what was cancelled or is overdue, and starts what can start.
  void start_waiting();
  /// Runs one forward, or waits a little where only late constraints are left. False when there is nothing
  /// to do until somebody asks for something.
  bool step();
  /// True when no request is left.
  bool is_idle() const { return running_.empty() && waiting_.empty(); }
  /// When a request will be overdue next.
  std::optional<Clock::time_point> next_deadline() const;
  /// Keeps a state file's snapshot for prompts that begin with its tokens and have its adapters; → how many
  /// tokens it has. Throws as parse_state(), and Error kOutOfMemory when the memory for prefixes does not
  /// hold it.
  std::size_t restore(std::span<const std::byte> file, std::string_view source, const AdapterSet* adapters);
  /// Ends every request as cancelled.
  void cancel_all();
  /// Ends every request as failed.
  void fail_all(const Failure& failure);

  /// As PrefixReuse::save().
  std::size_t save_prefix(const std::filesystem::path& file, std::span<const TokenId> ids,
                          const AdapterSet* adapters) {
    return prefixes_.save(file, ids, adapters);
  }
  /// Takes memory for an adapter from what is set aside for caches, unless that was given as a number. Throws
  /// Error kOutOfMemory when requests in work could not get what they were promised.
  void take_adapter_bytes(std::size_t bytes);
  /// Gives it back.
  void give_adapter_bytes(std::size_t bytes);
  /// As PrefixReuse::forget_adapter().
  void forget_adapter(const std::string& content_hash) { prefixes_.forget_adapter(content_hash); }
  const MemoryPlan& plan() const { return plan_; }
  const CacheBudget& budget() const { return budget_; }
  EngineStats stats() const;
  /// The last events of requests that ended since the last call. They are given out by the caller, so that
  /// whoever sees one finds it in the statistics.
  std::vector<Ending> take_endings() { return std::exchange(endings_, {}); }

 private:
  using Owned = std::unique_ptr<Sequence>;

  // scheduler.cpp: from request to sequence and out again
  void sweep();
  void expire(Ticket& ticket, Clock::time_point now);
  void fail(Ticket& ticket, Failure failure);
  void admit();
  bool can_start(Sequence& sequence);
  void start(Owned sequence);
  cache::SequenceCache first_caches(Sequence& sequence);
  void wait(Owned sequence);
  void retire(Owned sequence);
  void remove_over(std::vector<Owned>& sequences);
  void trim_prefixes();
  void release_followers(Sequence& leader);
  void deliver(Sequence& sequence);
  void settle(std::vector<StepWork>& works);
  std::size_t most_promised() const;
  std::size_t adapter_step_bytes() const;
  void set_adapter_bytes(std::size_t bytes);
  void take_state(Sequence& sequence);

  // scheduler_plan.cpp: one step
  std::vector<StepWork> plan_step(Sequence::Deadline until);
  void go_on_late(Sequence::Deadline until);
  bool wait_for_late();
  void plan_generating(std::vector<StepWork>& works, std::vector<Sequence*> ranked, Sequence::Deadline until);
  void plan_prompts(std::vector<StepWork>& works, std::size_t budget);
  StepWork generating_work(Sequence& sequence, std::size_t depth, Sequence::Deadline until);
  std::optional<StepWork> prompt_work(Sequence& sequence, std::size_t most_rows) const;
  std::size_t prompt_share(std::size_t rows) const;
  std::size_t draft_depth(Sequence& sequence, std::size_t generating);
  bool reserve(Sequence& sequence, const SequenceSize& size);
  bool try_reserve(Sequence& sequence, const SequenceSize& size);
  bool make_room(Sequence& sequence, std::size_t tokens);
  Sequence* find_victim(const Sequence& urgent);
  void preempt(Sequence& sequence);

  const LoadedModel& model_;
  const EngineOptions options_;
  const SequenceModel sequence_model_;
  const cache::CacheSpec cache_spec_;
  const MemoryPlan plan_;
  CacheBudget budget_;
  const std::size_t cache_bytes_without_adapters_;
  std::size_t adapter_bytes_ = 0;
  cache::BlockPool pool_;
  PrefixReuse prefixes_;
  StepRunner runner_;
  StepCost cost_;
  std::vector<Owned> running_;
  std::vector<Owned> waiting_;  ///< the next to start first
  EngineStats stats_;
  std::vector<Ending> endings_;
  Clock::time_point last_end_ = {};  ///< of a request
};

/// True when `a` is to be served before `b`: sequences whose readers keep up first, then by priority, arrival
/// and choice.
bool is_more_urgent(const Sequence& a, const Sequence& b);

}  // namespace lanner::engine
