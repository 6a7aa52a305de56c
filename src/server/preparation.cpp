// SPDX-License-Identifier: MIT
#include "server/preparation.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <thread>
#include <utility>

#include "server/engine_problem.h"
#include "server/generation_fields.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

std::optional<std::chrono::milliseconds> header_timeout(const HttpRequest& http) {
  const auto header = http.header("x-request-timeout-ms");
  if (!header) return std::nullopt;
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), ms);
  if (error != std::errc() || end != header->data() + header->size() || ms < 1 || ms > kLongestTimeoutMs)
    refuse_field("X-Request-Timeout-Ms", "invalid_value",
                 "X-Request-Timeout-Ms must be a whole number of milliseconds");
  return std::chrono::milliseconds(ms);
}

/// What the body says, else the header. A body's time that makes no sense is refused by who reads its fields.
std::optional<std::chrono::milliseconds> timeout_of(const HttpRequest& http, const Json& body) {
  const auto field = body.find("timeout_ms");
  if (field == body.end()) return header_timeout(http);
  if (!field->is_number_integer() || *field < 1 || *field > kLongestTimeoutMs) return std::nullopt;
  return std::chrono::milliseconds(field->get<std::int64_t>());
}

}  // namespace

struct Preparation::Work {
  explicit Work(Task given) : task(std::move(given)) {}

  Task task;
  std::shared_ptr<const HttpRequest> http = task.exchange->request_kept();
  Clock::time_point began = Clock::now();
  std::optional<Clock::time_point> deadline = {};
  Json body = {};
  std::uint64_t live_key = 0;
  std::atomic<bool> settled{false};  ///< changes on the strand

  /// False when it was before.
  bool claim() {
    if (settled.exchange(true)) return false;
    task.live->remove(live_key);
    return true;
  }
};

Preparation::Preparation()
    : readers_(1), preparers_(std::max<std::size_t>(2, std::thread::hardware_concurrency())) {}

void Preparation::finish() {
  readers_.finish();
  preparers_.finish();
}

void Preparation::start(Task task) {
  const auto work = std::make_shared<Work>(std::move(task));
  const std::weak_ptr<Work> weak = work;
  work->task.exchange->on_gone([weak] {
    if (const auto there = weak.lock()) there->claim();
  });
  work->live_key =
      work->task.live->add(work->http->id, {.answer_id = work->http->id,
                                            .path = work->http->path,
                                            .created = std::time(nullptr),
                                            .cancel = [weak] {
                                              const auto there = weak.lock();
                                              if (!there) return;
                                              settle(there, [] { throw RequestError(cancelled_problem()); });
                                            }});
  readers_.queue([this, work] { read(work); });
}

void Preparation::read(const Shared& work) {
  if (work->settled) return;
  try {
    work->body = parse_body(work->http->body);
    const auto asked = timeout_of(*work->http, work->body);
    if (const auto timeout = asked ? asked : work->task.timeout) {
      work->deadline = work->began + *timeout;
      work->task.exchange->post([weak = std::weak_ptr<Work>(work), when = *work->deadline] {
        const auto waiting = weak.lock();
        if (!waiting || waiting->settled) return;
        waiting->task.exchange->on_deadline(when, [weak] {
          if (const auto late = weak.lock()) settle(late, [] { throw RequestError(deadline_problem()); });
        });
      });
    }
    preparers_.queue([work] { prepare(work); });
  } catch (...) {
    settle(work, [error = std::current_exception()] { std::rethrow_exception(error); });
  }
}

void Preparation::prepare(const Shared& work) {
  if (work->settled) return;
  try {
    settle(work, work->task.prepare(work->body, work->deadline));
  } catch (...) {
    settle(work, [error = std::current_exception()] { std::rethrow_exception(error); });
  }
  work->body = nullptr;
}

void Preparation::settle(const Shared& work, Reply reply) {
  work->task.exchange->post([work, reply = std::move(reply)] {
    if (!work->claim()) return;
    try {
      reply();
    } catch (...) {
      work->task.refuse(std::current_exception());
    }
  });
}

}  // namespace lanner::server
