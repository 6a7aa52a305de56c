// SPDX-License-Identifier: MIT
#include "server/serving.h"

#include <csignal>
#include <thread>

namespace lanner::server {
namespace {

using std::chrono::milliseconds;

/// How long last bytes may take on their way to clients.
constexpr milliseconds kFarewell{3000};
constexpr milliseconds kGlance{10};

}  // namespace

Serving::Serving(const ServingOptions& options, std::ostream& log)
    : drain_timeout_(options.drain_timeout),
      log_(std::make_shared<AccessLog>(log, options.log_format)),
      keys_(std::make_shared<ApiKeys>(options.api_keys, options.api_key_file, options.admin_keys)),
      service_(std::make_shared<Service>(options.service, keys_, log_)),
      http_(options.http, service_) {
  if (options.signals == SignalUse::kHandle) http_.on_signal([this](int signal) { signalled(signal); });
  http_.start();
}

void Serving::signalled(int signal) {
  if (signal != SIGHUP) {
    ended_by_ = signal;
    bool again = false;
    {
      const std::lock_guard lock(mutex_);
      again = ending_;
    }
    return again ? hasten_shutdown() : begin_shutdown();
  }
  try {
    keys_->reload();
    log_->say("lanner: the key file was read again");
  } catch (const Error& error) {
    log_->say(std::string("lanner: the keys stay as they were: ") + error.what());
  }
}

Serving::~Serving() {
  service_->finish_threads();
  http_.stop();
  if (served_) served_->engine->drain(milliseconds(0));  // it calls nobody from here on
}

void Serving::set_model(std::shared_ptr<ServedModel> served) {
  {
    const std::lock_guard lock(mutex_);
    served_ = served;
  }
  service_->set_model(std::move(served));
}

void Serving::begin_shutdown() {
  service_->start_draining();
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

void Serving::hasten_shutdown() {
  const std::lock_guard lock(mutex_);
  hastened_ = true;
  changed_.notify_all();
}

bool Serving::wait() {
  std::shared_ptr<ServedModel> served;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ending_; });
    served = served_;
  }
  log_->say("lanner: shutting down");
  bool clean = true;
  const auto deadline = std::chrono::steady_clock::now() + drain_timeout_;
  {
    // New work is refused by now: what is left are exchanges in work.
    std::unique_lock lock(mutex_);
    while (http_.active_exchanges() > 0 && !hastened_ && std::chrono::steady_clock::now() < deadline)
      changed_.wait_for(lock, kGlance);
  }
  clean = http_.active_exchanges() == 0;
  service_->cancel_requests();
  if (served) served->engine->drain(milliseconds(0));
  const auto farewell = std::chrono::steady_clock::now() + kFarewell;
  while (http_.active_exchanges() > 0 && std::chrono::steady_clock::now() < farewell)
    std::this_thread::sleep_for(kGlance);
  service_->finish_threads();
  http_.stop();
  return clean;
}

}  // namespace lanner::server
