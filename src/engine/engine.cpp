// SPDX-License-Identifier: MIT
#include "engine/engine.h"

#include <algorithm>
#include <functional>
#include <future>
#include <utility>

#include "core/error.h"
#include "core/xxhash64.h"
#include "engine/admission.h"
#include "engine/engine_inbox.h"
#include "engine/request_channel.h"
#include "engine/scheduler.h"
#include "engine/state_file.h"
#include "io/mapped_file.h"

namespace lanner::engine {
namespace {

// A model of some size is loaded again in about this time.
constexpr double kRetrySeconds = 10;

Failure failure_of(const Error& error) { return {.error = error.kind(), .message = error.what()}; }

/// A request the scheduler cannot begin (its grammar does not compile, memory is out) fails alone.
void add(Scheduler& scheduler, const std::shared_ptr<Ticket>& ticket) {
  try {
    scheduler.add(ticket);
  } catch (const Error& error) {
    ticket->channel->push(failure_of(error));
  } catch (const std::exception& error) {
    ticket->channel->push(Failure{.message = error.what()});
  }
}

/// What came of a step: whether it computed anything, or why it failed.
struct StepResult {
  bool worked = false;
  std::optional<Failure> failure = {};
};

/// `started`: called once all requests have started that can.
StepResult step(Scheduler& scheduler, const std::function<void()>& started) {
  try {
    scheduler.start_waiting();
    started();
    return {.worked = scheduler.step()};
  } catch (const Error& error) {
    return {.failure = failure_of(error)};
  } catch (const std::bad_alloc&) {
    return {.failure =
                Failure{.error = ErrorKind::kOutOfMemory, .message = "memory ran out in a forward pass"}};
  } catch (const std::exception& error) {
    return {.failure = Failure{.message = error.what()}};
  }
}

}  // namespace

RequestHandle::RequestHandle(std::shared_ptr<RequestChannel> channel, std::uint64_t id)
    : channel_(std::move(channel)), id_(id) {}

RequestHandle& RequestHandle::operator=(RequestHandle&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(id_, other.id_);
  return *this;
}

RequestHandle::~RequestHandle() {
  if (channel_ && !channel_->is_over()) channel_->cancel();
}

std::optional<Event> RequestHandle::next() { return channel_->next(std::nullopt); }
std::optional<Event> RequestHandle::next_for(std::chrono::milliseconds timeout) {
  return channel_->next(timeout);
}
bool RequestHandle::is_over() const { return channel_->is_over(); }
void RequestHandle::listen(std::function<void()> listener) { channel_->listen(std::move(listener)); }
void RequestHandle::cancel() { channel_->cancel(); }
void RequestHandle::end_reasoning() { channel_->end_reasoning(); }

Engine::Engine(std::shared_ptr<const LoadedModel> model, const EngineOptions& options)
    : model_(std::move(model)),
      options_(options),
      inbox_(std::make_shared<EngineInbox>()),
      scheduler_(running_.emplace_back(run(model_)).scheduler.get()),
      thread_([this] { work(); }) {}

Engine::Running Engine::run(std::shared_ptr<const LoadedModel> model) const {
  auto scheduler = std::make_unique<Scheduler>(*model, options_);
  return {std::move(model), std::move(scheduler)};
}

Engine::~Engine() {
  drain(std::chrono::milliseconds(0));
  thread_.join();
}

std::variant<RequestHandle, Refusal> Engine::submit(Request request) {
  check_request(request, *model_);
  std::variant<std::size_t, Refusal> limit = token_limit(request, *model_, scheduler_.load()->budget());
  if (auto* refusal = std::get_if<Refusal>(&limit)) return std::move(*refusal);
  auto ticket = std::make_shared<Ticket>();
  ticket->request = std::move(request);
  ticket->token_limit = std::get<std::size_t>(limit);
  ticket->submitted = Ticket::Clock::now();
  ticket->channel =
      std::make_shared<RequestChannel>(options_.event_capacity, [inbox = inbox_] { inbox->notify(); });
  {
    const std::lock_guard lock(inbox_->mutex);
    if (inbox_->state != EngineState::kOpen) {
      ++inbox_->refused;
      return Refusal{.kind = RefusalKind::kDraining, .message = "the engine is shutting down"};
    }
    if (inbox_->recovering) {
      ++inbox_->refused;
      return Refusal{.kind = RefusalKind::kDeviceLost,
                     .message = "the device was lost, and the model is being loaded again; try again later",
                     .retry_seconds = kRetrySeconds};
    }
    const std::size_t queued = inbox_->stats.queued + inbox_->arrivals.size();
    // Those that find a free place start with the next step; they do not count as waiting.
    const std::size_t places =
        options_.max_sequences - std::min(options_.max_sequences, inbox_->stats.running);
    if (queued >= options_.max_queue + places) {
      ++inbox_->refused;
      return Refusal{.kind = RefusalKind::kQueueFull,
                     .message = "too many requests are waiting; try again later",
                     .retry_seconds = inbox_->stats.seconds_per_request};
    }
    ticket->arrival = ++inbox_->submissions;
    inbox_->arrivals.push_back(ticket);
    inbox_->has_news = true;
  }
  inbox_->wake.notify_one();
  return RequestHandle(ticket->channel, ticket->arrival);
}

RequestHandle Engine::require(Request request) {
  auto result = submit(std::move(request));
  if (auto* refusal = std::get_if<Refusal>(&result))
    throw Error(ErrorKind::kInvalidArgument, refusal->message);
  return std::move(std::get<RequestHandle>(result));
}

std::size_t Engine::between_steps(std::function<std::size_t()> body) {
  const auto task = std::make_shared<std::packaged_task<std::size_t()>>(std::move(body));
  std::future<std::size_t> result = task->get_future();
  if (!inbox_->run([task] { (*task)(); }))
    throw Error(ErrorKind::kInvalidArgument, "the engine has stopped: it takes no more orders");
  return result.get();
}

std::size_t Engine::restore_state(const std::filesystem::path& file, const AdapterSet* adapters) {
  const io::MappedFile mapped(file);
  (void)xxhash64(mapped.bytes());  // so that the engine does not wait for the disk
  return between_steps(
      [&] { return scheduler_.load()->restore(mapped.bytes(), file.filename().string(), adapters); });
}

std::size_t Engine::save_prefix(const std::filesystem::path& file, std::span<const TokenId> ids,
                                const AdapterSet* adapters) {
  return between_steps([&] { return scheduler_.load()->save_prefix(file, ids, adapters); });
}

MountResult Engine::mount_adapter(const std::string& id, const std::filesystem::path& folder, float scale) {
  models::Adapter adapter = models::read_adapter(folder, model_->model(), model_->ops());
  const std::size_t bytes = adapter.size_bytes;
  const auto give_back = [&] { inbox_->run([=, this] { scheduler_.load()->give_adapter_bytes(bytes); }); };
  between_steps([&] {
    scheduler_.load()->take_adapter_bytes(bytes);
    return bytes;
  });
  try {
    const MountResult result = adapters_.mount(id, folder, std::move(adapter), scale);
    if (result != MountResult::kMounted) give_back();
    return result;
  } catch (const Error&) {
    give_back();
    throw;
  }
}

UnmountResult Engine::unmount_adapter(const std::string& id, UnmountRule rule,
                                      std::function<void()> on_release) {
  const std::optional<MountedAdapter> mounted = adapters_.find(id);
  if (!mounted) return UnmountResult::kUnknown;
  // The last user may outlive the engine: its thread is reached through the inbox alone. On the CPU, where
  // adapters are, one scheduler works to the end.
  auto released = [inbox = inbox_, scheduler = scheduler_.load(),
                   then = std::move(on_release)](const models::Adapter& adapter) {
    inbox->run([scheduler, bytes = adapter.size_bytes] { scheduler->give_adapter_bytes(bytes); });
    if (then) then();
  };
  const UnmountResult result = adapters_.unmount(id, rule, std::move(released));
  if (result == UnmountResult::kUnmounted)
    between_steps([&] {
      scheduler_.load()->forget_adapter(mounted->adapter->content_hash);
      return std::size_t{0};
    });
  return result;
}

const MemoryPlan& Engine::plan() const { return scheduler_.load()->plan(); }

std::size_t Engine::cache_budget_bytes() const { return scheduler_.load()->budget().total_bytes(); }

EngineStats Engine::stats() const {
  const std::lock_guard lock(inbox_->mutex);
  EngineStats stats = inbox_->stats;
  stats.refused = inbox_->refused;
  stats.recovering = inbox_->recovering;
  stats.recovery_reason = inbox_->recovery_reason;
  stats.device_losses = inbox_->device_losses;
  stats.queued += inbox_->arrivals.size();
  return stats;
}

bool Engine::drain(std::chrono::milliseconds patience) {
  std::unique_lock lock(inbox_->mutex);
  if (inbox_->state == EngineState::kOpen) inbox_->state = EngineState::kDraining;
  inbox_->has_news = true;
  inbox_->wake.notify_one();
  const auto stopped = [&] { return inbox_->state == EngineState::kStopped; };
  if (inbox_->changed.wait_for(lock, patience, stopped)) return true;
  inbox_->state = EngineState::kStopping;
  inbox_->has_news = true;
  inbox_->wake.notify_one();
  inbox_->changed.wait(lock, stopped);
  return false;
}

bool Engine::is_device_lost() const {
  const device::Ops& ops = running_.back().model->ops();
  return ops.is_lost != nullptr && ops.is_lost(ops);
}

void Engine::recover() {
  constexpr std::chrono::milliseconds kLongestDelay = std::chrono::minutes(1);
  EngineInbox& inbox = *inbox_;
  for (auto delay = options_.reload_delay;; delay = std::min(2 * delay, kLongestDelay)) {
    try {
      running_.push_back(
          run(std::make_shared<const LoadedModel>(model_->checkpoint().folder(), model_->options())));
      scheduler_ = running_.back().scheduler.get();
      break;
    } catch (const std::exception& error) {
      // The device may come back: nothing is lost by trying again.
      std::unique_lock lock(inbox.mutex);
      inbox.recovery_reason = error.what();
      if (inbox.wake.wait_for(lock, delay, [&] { return inbox.state != EngineState::kOpen; })) return;
    }
  }
  const std::lock_guard lock(inbox.mutex);
  inbox.recovering = false;
}

void Engine::work() {
  EngineInbox& inbox = *inbox_;
  for (;;) {
    Scheduler& scheduler = *running_.back().scheduler;
    std::vector<std::shared_ptr<Ticket>> arrivals;
    std::vector<std::function<void()>> tasks;
    EngineState state = EngineState::kOpen;
    {
      const std::lock_guard lock(inbox.mutex);
      arrivals.swap(inbox.arrivals);
      tasks.swap(inbox.tasks);
      inbox.has_news = false;
      state = inbox.state;
      inbox.stats.queued += arrivals.size();  // not to be missed by submit() until the next publication
    }
    for (const auto& task : tasks) task();
    for (const auto& ticket : arrivals) add(scheduler, ticket);
    if (state == EngineState::kStopping) scheduler.cancel_all();
    // While the forward runs, places in the queue are free again.
    StepResult result = step(scheduler, [&] {
      const std::lock_guard lock(inbox.mutex);
      inbox.stats = scheduler.stats();
    });
    // A step that fails takes its requests along, not the engine.
    const bool lost = result.failure && is_device_lost();
    if (lost) {
      result.failure->kind = FailureKind::kDeviceLost;
      result.failure->message += "; the device is lost, and the model is being loaded again";
    }
    if (result.failure) scheduler.fail_all(*result.failure);
    std::unique_lock lock(inbox.mutex);
    inbox.stats = scheduler.stats();
    if (lost) {
      inbox.recovering = true;
      inbox.recovery_reason = result.failure->message;
      ++inbox.device_losses;
    }
    for (Scheduler::Ending& ending : scheduler.take_endings()) ending.channel->push(std::move(ending.event));
    if (lost) {
      lock.unlock();
      recover();
      continue;
    }
    if (result.worked || result.failure || inbox.has_news) continue;
    if (inbox.state != EngineState::kOpen && scheduler.is_idle()) {
      inbox.state = EngineState::kStopped;
      inbox.changed.notify_all();
      return;
    }
    const auto news = [&] { return inbox.has_news; };
    if (const auto deadline = scheduler.next_deadline())
      inbox.wake.wait_until(lock, *deadline, news);
    else
      inbox.wake.wait(lock, news);
  }
}

}  // namespace lanner::engine
