// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/access_log.h"
#include "server/answer_format.h"
#include "server/api_keys.h"
#include "server/exchange.h"
#include "server/live_requests.h"
#include "server/metrics.h"
#include "server/preparation.h"
#include "server/response_store.h"
#include "server/served_model.h"
#include "server/state_folder.h"
#include "server/static_files.h"

namespace lanner::server {

/// What a service needs besides a model.
struct ServiceOptions {
  std::string version = {};                    ///< of the program
  std::vector<std::string> cors_origins = {};  ///< "*" = all
  bool metrics = true;
  std::size_t response_store_bytes = ResponseStore::kMostBytes;
  std::optional<std::filesystem::path> state_folder = {};    ///< none = states are neither saved nor loaded
  std::optional<std::filesystem::path> adapter_folder = {};  ///< whose adapters every client may mount
};

/// The routes: what each request gets. Answers while no model is loaded, and while the server drains, with
/// 503. All members may be called from any thread.
class Service final : public HttpHandler {
 public:
  Service(ServiceOptions options, std::shared_ptr<ApiKeys> keys, std::shared_ptr<AccessLog> log);
  ~Service() override;

  void set_model(std::shared_ptr<ServedModel> served);
  /// From now on new work is refused.
  void set_progress(double share) { progress_ = share; }
  void start_draining() { draining_ = true; }
  /// Refuses what is in preparation and cancels what is generated.
  void cancel_requests() { live_->cancel_all(); }
  /// Does what was begun on threads of its own. Before the server of the exchanges ends.
  void finish_threads() {
    preparation_.finish();
    mounts_.finish();
    if (states_) states_->finish();
  }

  std::optional<HttpResponse> refuse_by_header(const HttpRequest& header) override;
  void handle(std::shared_ptr<Exchange> exchange) override;
  HttpResponse malformed(int status, const HttpRequest& known, const std::string& why) override;
  void decorate(const HttpRequest& request, HttpResponse& response) override;
  void finished(const HttpRequest& request, const ExchangeRecord& record) override;

  /// What the functions of routes work with.
  struct Call {
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<const HttpRequest> http;
    std::shared_ptr<ServedModel> served;  ///< null only for routes that need none
    std::shared_ptr<Metrics> metrics;
    std::shared_ptr<LiveRequests> live;
    std::shared_ptr<ResponseStore> responses;
    std::shared_ptr<StateFolder> states;  ///< null: none
    std::shared_ptr<AccessLog> log;
    std::string tail;  ///< what stands for {id} in the route's path
    std::optional<std::filesystem::path> adapter_folder = {};
    bool has_admins = false;  ///< some clients have an administrator's key
    bool is_admin = false;    ///< this one has
    std::optional<Preparation::Clock::time_point> deadline = {};  ///< of a prepared request

    const HttpRequest& request() const { return *http; }
    void respond(const Json& body) const { exchange->respond({.body = write_json(body)}); }
    /// The same for later, on the strand.
    Reply reply(const Json& body) const {
      return [to = exchange, text = write_json(body)] { to->respond({.body = text}); };
    }
  };

 private:
  struct Route;
  void add_routes();
  struct Destination;
  /// Where a request goes that its header does not rule out. Throws RequestError.
  Destination destination(const HttpRequest& header) const;
  void check_header(const Route& route, const HttpRequest& header) const;
  void prepare(const Route& route, const Call& call);
  void mount(const Route& route, const Call& call);
  /// Answers what was thrown.
  void refuse(const std::shared_ptr<Exchange>& exchange, const std::exception_ptr& thrown);
  void run(const Destination& to, const std::shared_ptr<Exchange>& exchange);
  /// Counts it.
  HttpResponse refusal(const Problem& problem, const HttpRequest& request);
  void answer_health(const Call& call) const;
  void answer_metrics(const Call& call) const;
  void answer_stats(const Call& call) const;
  void answer_version(const Call& call) const;
  std::shared_ptr<ServedModel> served() const;

  const ServiceOptions options_;
  const std::shared_ptr<ApiKeys> keys_;
  const std::shared_ptr<AccessLog> log_;
  const std::shared_ptr<Metrics> metrics_;
  const std::shared_ptr<LiveRequests> live_;
  const std::shared_ptr<ResponseStore> responses_;
  const std::shared_ptr<StateFolder> states_;
  std::vector<Route> routes_;
  mutable std::mutex mutex_;
  std::shared_ptr<ServedModel> served_;
  std::atomic<bool> draining_{false};
  std::atomic<double> progress_{0};  ///< of loading
  const std::int64_t started_;
  Preparation preparation_;
  WorkerThreads mounts_{1};  ///< of adapters, whose files take as long as the disk needs
};

}  // namespace lanner::server
