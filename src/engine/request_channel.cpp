// SPDX-License-Identifier: MIT
#include "engine/request_channel.h"

#include <utility>

namespace lanner::engine {

RequestChannel::RequestChannel(std::size_t capacity, std::function<void()> wake)
    : capacity_(capacity), wake_(std::move(wake)) {}

void RequestChannel::push(Event event) {
  std::shared_ptr<const std::function<void()>> listener;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = std::holds_alternative<RequestEnd>(event) || std::holds_alternative<Failure>(event);
    events_.push_back(std::move(event));
    if (events_.size() >= capacity_) full_.store(true, std::memory_order_release);
    listener = listener_;
  }
  arrived_.notify_one();
  if (listener) (*listener)();
}

std::optional<Event> RequestChannel::next(std::optional<std::chrono::milliseconds> timeout) {
  std::optional<Event> event;
  bool caught_up = false;
  {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return !events_.empty() || closed_; };
    if (!timeout)
      arrived_.wait(lock, ready);
    else if (*timeout > std::chrono::milliseconds(0))  // even a wait for nothing gives the core away
      arrived_.wait_for(lock, *timeout, ready);
    if (events_.empty()) return std::nullopt;
    event = std::move(events_.front());
    events_.pop_front();
    if (full_.load(std::memory_order_relaxed) && events_.size() <= capacity_ / 2) {
      full_.store(false, std::memory_order_release);
      caught_up = true;
    }
  }
  if (caught_up) wake_();
  return event;
}

bool RequestChannel::is_over() const {
  const std::lock_guard lock(mutex_);
  return closed_ && events_.empty();
}

void RequestChannel::listen(std::function<void()> listener) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(listener));
  bool waiting = false;
  {
    const std::lock_guard lock(mutex_);
    listener_ = shared;
    waiting = !events_.empty();
  }
  if (waiting) (*shared)();
}

void RequestChannel::cancel() {
  cancelled_.store(true, std::memory_order_release);
  wake_();
}

}  // namespace lanner::engine
