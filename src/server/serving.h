// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "server/http_server.h"
#include "server/service.h"

namespace lanner::server {

/// Whether SIGTERM, SIGINT and SIGHUP are a server's.
enum class SignalUse : std::uint8_t { kHandle, kLeave };

struct ServingOptions {
  HttpOptions http = {};
  ServiceOptions service = {};
  std::vector<std::string> api_keys = {};
  std::optional<std::filesystem::path> api_key_file = {};
  std::vector<std::string> admin_keys = {};
  LogFormat log_format = LogFormat::kText;
  std::chrono::milliseconds drain_timeout{30'000};
  SignalUse signals = SignalUse::kHandle;
};

/// A whole server: listens at once, answers 503 until it has a model, and ends gently. SIGTERM and SIGINT
/// begin its end, a second one hastens it; SIGHUP reads the key file again.
class Serving {
 public:
  /// Throws Error when it cannot listen or a file cannot be read.
  Serving(const ServingOptions& options, std::ostream& log);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  std::uint16_t port() const { return http_.port(); }
  /// How much of the model is loaded, 0 to 1: what /health says until set_model().
  void set_progress(double share) { service_->set_progress(share); }
  void set_model(std::shared_ptr<ServedModel> served);
  /// What SIGTERM does: no more work; running answers get the drain timeout.
  void begin_shutdown();
  /// Cancels what runs.
  void hasten_shutdown();
  /// The latest signal that began or hastened the end; 0 = none did.
  int ended_by() const { return ended_by_; }
  /// Until the shutdown is over. True when no answer had to be cancelled.
  bool wait();
  HttpServer& http() { return http_; }

 private:
  void signalled(int signal);

  const std::chrono::milliseconds drain_timeout_;
  const std::shared_ptr<AccessLog> log_;
  const std::shared_ptr<ApiKeys> keys_;
  const std::shared_ptr<Service> service_;
  HttpServer http_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<ServedModel> served_;
  bool ending_ = false, hastened_ = false;
  std::atomic<int> ended_by_{0};
};

}  // namespace lanner::server
