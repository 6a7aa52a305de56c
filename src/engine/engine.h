// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>

#include "engine/adapter_registry.h"
#include "engine/engine_options.h"
#include "engine/engine_stats.h"
#include "engine/event.h"
#include "engine/loaded_model.h"
#include "engine/memory_plan.h"
#include "engine/request.h"

namespace lanner::engine {

class RequestChannel;
struct EngineInbox;
class Scheduler;

/// The reader's end of one request. Used from one thread at a time; cancel() from any. Destroying it cancels
/// the request.
class RequestHandle {
 public:
  RequestHandle(std::shared_ptr<RequestChannel> channel, std::uint64_t id);
  RequestHandle(RequestHandle&&) noexcept = default;
  RequestHandle& operator=(RequestHandle&& other) noexcept;
  ~RequestHandle();

  /// Waits for the next event; std::nullopt after the last one (RequestEnd or Failure).
  std::optional<Event> next();
  /// The same, waiting no longer than `timeout`: std::nullopt then, too.
  std::optional<Event> next_for(std::chrono::milliseconds timeout);
  /// True when the last event was taken.
  bool is_over() const;
  /// For readers that do not wait: `listener` is called after each event, on the engine's thread, and must
  /// not block; it may be called once more after the handle is gone.
  void listen(std::function<void()> listener);
  /// Ends the request at the next step: its choices end as cancelled.
  void cancel();
  /// Has the thoughts of every choice closed at its next token, as if the thinking budget were used up.
  void end_reasoning();
  /// Counts the engine's requests from 1.
  std::uint64_t id() const { return id_; }

 private:
  std::shared_ptr<RequestChannel> channel_;
  std::uint64_t id_;
};

/// Why a request was not taken: an expected outcome, not an error.
enum class RefusalKind : std::uint8_t {
  kContextLength,  ///< prompt and answer do not fit the context
  kMemory,         ///< they would never fit the memory set aside for caches
  kQueueFull,      ///< try again later
  kDraining,       ///< the engine is shutting down
  kDeviceLost,     ///< the device failed, and the model is being loaded again: try later
};

struct Refusal {
  RefusalKind kind = RefusalKind::kQueueFull;
  std::string message;
  double retry_seconds = 0;  ///< for kQueueFull and kDeviceLost: an estimate
};

/// Answers many requests at once on a thread of its own, which alone owns the scheduler, the step's scratch
/// and the caches. All members may be called from any thread. What a request is answered depends on nothing
/// but the request and the model. A device that is lost takes the running requests along; the engine opens it
/// anew, loads the model again and goes on.
class Engine {
 public:
  Engine(std::shared_ptr<const LoadedModel> model, const EngineOptions& options);
  /// Cancels what is unfinished.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Throws Error kInvalidArgument for a request that makes no sense: empty prompt, ids outside the
  /// vocabulary, an empty stop string, ...
  std::variant<RequestHandle, Refusal> submit(Request request);
  /// submit() for callers without a queue of their own: throws Error kInvalidArgument with the refusal's
  /// message.
  RequestHandle require(Request request);

  /// Reads a state file that was made with these adapters; until memory is short, prompts that begin with its
  /// tokens start from its snapshot. → how many tokens. Waits for a moment between two steps. Throws as
  /// load_state(); Error kOutOfMemory when the memory for prefixes does not hold it; kInvalidArgument when
  /// the engine has stopped.
  std::size_t restore_state(const std::filesystem::path& file, const AdapterSet* adapters = nullptr);
  /// Writes the longest beginning of `ids` that is known with these adapters as a state file; → its tokens, 0
  /// when none is known and nothing was written. Throws Error kIo, and as restore_state() when the engine has
  /// stopped.
  std::size_t save_prefix(const std::filesystem::path& file, std::span<const TokenId> ids,
                          const AdapterSet* adapters = nullptr);

  /// Reads an adapter and lets requests choose it by its id. Reads on the caller's thread, then waits for a
  /// moment between two steps. Throws as models::read_adapter() and AdapterRegistry::mount(); Error
  /// kOutOfMemory when the memory for caches does not hold it too.
  MountResult mount_adapter(const std::string& id, const std::filesystem::path& folder, float scale = 1);
  /// Also forgets the prefixes that were computed with it. As AdapterRegistry::unmount().
  UnmountResult unmount_adapter(const std::string& id, UnmountRule rule,
                                std::function<void()> on_release = {});
  AdapterRegistry& adapters() { return adapters_; }
  const AdapterRegistry& adapters() const { return adapters_; }

  EngineStats stats() const;
  /// As it was given; what it computes with may have been loaded again since.
  const LoadedModel& model() const { return *model_; }
  const EngineOptions& options() const { return options_; }
  /// What admission goes by.
  const MemoryPlan& plan() const;
  /// Bytes set aside for the caches of sequences and the prefix store.
  std::size_t cache_budget_bytes() const;
  /// Takes no more requests, lets the running ones finish for at most `patience`, then cancels them. True
  /// when nothing had to be cancelled.
  bool drain(std::chrono::milliseconds patience);

 private:
  /// What requests run on. Those of lost devices stay: others may still read their plans.
  struct Running {
    std::shared_ptr<const LoadedModel> model;
    std::unique_ptr<Scheduler> scheduler;
  };

  void work();
  Running run(std::shared_ptr<const LoadedModel> model) const;
  /// True when the step's failure was the device's end.
  bool is_device_lost() const;
  /// Loads the model again, until it works or the engine is to stop.
  void recover();
  /// Runs `body` on the engine's thread and waits for it.
  std::size_t between_steps(std::function<std::size_t()> body);

  std::shared_ptr<const LoadedModel> model_;
  const EngineOptions options_;
  std::shared_ptr<EngineInbox> inbox_;
  AdapterRegistry adapters_;
  std::vector<Running> running_;       ///< the thread's; the last works
  std::atomic<Scheduler*> scheduler_;  ///< of the last; other threads see its immutable parts
  std::thread thread_;
};

}  // namespace lanner::engine
