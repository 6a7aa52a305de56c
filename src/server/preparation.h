// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "server/exchange.h"
#include "server/json_body.h"
#include "server/live_requests.h"
#include "server/worker_threads.h"

namespace lanner::server {

/// What is done with a prepared request on its exchange's strand: answers it or starts what will. Throws like
/// a route.
using Reply = std::function<void()>;

/// Makes out what requests ask for, on threads of its own: templates, tokens and grammars of long requests
/// take seconds, which connections must not wait for. A request whose client has left, or whose time is over,
/// is passed over when its turn comes.
class Preparation {
 public:
  using Clock = std::chrono::steady_clock;
  struct Task {
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<LiveRequests> live;
    std::optional<std::chrono::milliseconds> timeout;  ///< unless the request names one
    /// On one of the threads.
    std::function<Reply(const Json& body, std::optional<Clock::time_point> deadline)> prepare;
    /// Answers on the strand what was thrown.
    std::function<void(const std::exception_ptr& error)> refuse;
  };

  Preparation();

  /// On the exchange's strand.
  void start(Task task);
  /// Does what was begun and ends the threads. Before the server of the exchanges ends.
  void finish();

 private:
  struct Work;
  using Shared = std::shared_ptr<Work>;
  void read(const Shared& work);
  static void prepare(const Shared& work);
  static void settle(const Shared& work, Reply reply);

  WorkerThreads readers_;    ///< of JSON, which takes little: so that deadlines of waiting requests are known
  WorkerThreads preparers_;  ///< as many as the machine runs at once
};

}  // namespace lanner::server
