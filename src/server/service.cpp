// SPDX-License-Identifier: MIT
#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "server/error_response.h"
#include "server/problem.h"
#include "server/routes.h"

namespace lanner::server {

/// One method of one path. A path that ends with "{id}" takes what follows, up to `suffix`.
struct Service::Route {
  enum class Needs : std::uint8_t { kNothing, kKey, kModel, kWork };
  std::string method;
  std::string path;
  Needs needs = Needs::kModel;
  std::function<void(const Call&)> run = {};
  /// Instead of `run`, on a thread of the preparation.
  std::function<Reply(const Call&, const Json& body)> prepare = {};
  /// Instead of both, on the thread that mounts adapters, whatever becomes of the client.
  std::function<Reply(const Call&)> mount = {};

  /// What stands for {id}; nothing when the path is another.
  std::optional<std::string> match(std::string_view target) const {
    const std::size_t brace = path.find("{id}");
    if (brace == std::string::npos) return target == path ? std::optional<std::string>("") : std::nullopt;
    const std::string_view before = std::string_view(path).substr(0, brace);
    const std::string_view after = std::string_view(path).substr(brace + 4);
    if (target.size() <= before.size() + after.size() || !target.starts_with(before) ||
        !target.ends_with(after))
      return std::nullopt;
    return std::string(target.substr(before.size(), target.size() - before.size() - after.size()));
  }
};

/// A route and what stands for {id} in its path, or a file of the page; neither for OPTIONS.
struct Service::Destination {
  const Route* route = nullptr;
  std::string tail = {};
  const StaticFile* file = nullptr;
};

namespace {

/// The style of a path's errors before its route is known.
ErrorStyle style_of(std::string_view path) {
  return path.starts_with("/v1/messages") ? ErrorStyle::kAnthropic : ErrorStyle::kOpenAi;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// application/json, of no character set but UTF-8.
bool is_json_type(std::string_view type) {
  std::size_t end = std::min(type.find(';'), type.size());
  if (!equal_ignoring_case(without_blanks(type.substr(0, end)), "application/json")) return false;
  while (end < type.size()) {
    type.remove_prefix(end + 1);
    end = std::min(type.find(';'), type.size());
    const std::string_view parameter = without_blanks(type.substr(0, end));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    if (!equal_ignoring_case(parameter.substr(0, equals), "charset")) continue;
    const std::string_view charset = parameter.substr(std::min(equals + 1, parameter.size()));
    if (!equal_ignoring_case(charset, "utf-8") && !equal_ignoring_case(charset, "\"utf-8\"")) return false;
  }
  return true;
}

void check_body_type(const HttpRequest& header) {
  const auto type = header.header("content-type");
  if (type && !is_json_type(*type))
    throw RequestError({.status = 415,
                        .code = "unsupported_media_type",
                        .message = "the body must be application/json in UTF-8",
                        .param = "Content-Type"});
  const auto encoding = header.header("content-encoding");
  if (encoding && !equal_ignoring_case(*encoding, "identity"))
    throw RequestError({.status = 415,
                        .code = "unsupported_media_type",
                        .message = "the body must not be compressed",
                        .param = "Content-Encoding",
                        .headers = {{"Accept-Encoding", "identity"}}});
}

/// Requests whose states can be saved after their end.
constexpr std::size_t kEndedKept = 32;

Problem wrong_method(const std::string& method, std::string allowed) {
  return {.status = 405,
          .code = "method_not_allowed",
          .message = "this address does not know " + method.substr(0, 32),
          .headers = {{"Allow", std::move(allowed)}}};
}

}  // namespace

Service::Service(ServiceOptions options, std::shared_ptr<ApiKeys> keys, std::shared_ptr<AccessLog> log)
    : options_(std::move(options)),
      keys_(std::move(keys)),
      log_(std::move(log)),
      metrics_(std::make_shared<Metrics>("")),
      live_(std::make_shared<LiveRequests>(options_.state_folder ? kEndedKept : 0)),
      responses_(std::make_shared<ResponseStore>(options_.response_store_bytes)),
      states_(options_.state_folder ? std::make_shared<StateFolder>(*options_.state_folder) : nullptr),
      started_(std::time(nullptr)) {
  add_routes();
  // Rare events are counted from zero: to Prometheus a series that begins with 1 has not grown.
  metrics_->count("slow_clients_dropped_total", {}, 0);
  for (const char* reason : {"auth", "context_length", "invalid", "memory", "queue_full"})
    metrics_->count("request_rejected_total", fmt::format("reason=\"{}\"", reason), 0);
  for (const char* reason : {"abort", "error", "length", "stop", "tool_calls"})
    metrics_->count("request_success_total", fmt::format("finished_reason=\"{}\"", reason), 0);
}

Service::~Service() = default;

void Service::add_routes() {
  using Needs = Route::Needs;
  const auto add = [&](const char* method, const char* path, Needs needs,
                       std::function<void(const Call&)> run) {
    routes_.push_back({.method = method, .path = path, .needs = needs, .run = std::move(run)});
  };
  const auto add_prepared = [&](const char* path, Needs needs,
                                std::function<Reply(const Call&, const Json&)> prepare) {
    routes_.push_back({.method = "POST", .path = path, .needs = needs, .prepare = std::move(prepare)});
  };
  const auto add_mount = [&](const char* path, std::function<Reply(const Call&)> mount) {
    routes_.push_back({.method = "POST", .path = path, .needs = Needs::kWork, .mount = std::move(mount)});
  };
  add_prepared("/v1/chat/completions", Needs::kWork, chat_completions);
  add_prepared("/v1/completions", Needs::kWork, completions);
  add_prepared("/v1/embeddings", Needs::kWork, embeddings);
  add_prepared("/v1/messages", Needs::kWork, messages);
  add_prepared("/v1/messages/count_tokens", Needs::kModel, count_tokens);
  add_prepared("/v1/responses", Needs::kWork, responses);
  add("GET", "/v1/responses/{id}", Needs::kKey, show_response);
  add("DELETE", "/v1/responses/{id}", Needs::kKey, delete_response);
  add_prepared("/tokenize", Needs::kModel, tokenize);
  add_prepared("/detokenize", Needs::kModel, detokenize);
  add_prepared("/apply-template", Needs::kModel, apply_template);
  add("POST", "/v1/state/save", Needs::kWork, save_state);
  add("POST", "/v1/state/load", Needs::kWork, load_state);
  add("GET", "/v1/adapters", Needs::kModel, list_adapters);
  add("GET", "/v1/adapters/available", Needs::kModel, list_available_adapters);
  add_mount("/v1/adapters", mount_adapter);
  add("PATCH", "/v1/adapters/{id}", Needs::kWork, change_adapter);
  add("DELETE", "/v1/adapters/{id}", Needs::kWork, unmount_adapter);
  add_mount("/v1/load_lora_adapter", load_lora_adapter);
  add("POST", "/v1/unload_lora_adapter", Needs::kWork, unload_lora_adapter);
  add("GET", "/v1/models", Needs::kModel, list_models);
  add("GET", "/v1/models/{id}", Needs::kModel, show_model);
  add("GET", "/v1/requests", Needs::kKey, list_requests);
  add("DELETE", "/v1/requests/{id}", Needs::kKey, cancel_request);
  add("POST", "/v1/chat/completions/{id}/control", Needs::kKey, control_request);
  add("GET", "/health", Needs::kNothing, [this](const Call& call) { answer_health(call); });
  add("GET", "/metrics", Needs::kKey, [this](const Call& call) { answer_metrics(call); });
  add("GET", "/stats", Needs::kModel, [this](const Call& call) { answer_stats(call); });
  add("GET", "/fit", Needs::kModel, show_fit);
  add("GET", "/version", Needs::kKey, [this](const Call& call) { answer_version(call); });
}

void Service::set_model(std::shared_ptr<ServedModel> served) {
  metrics_->set_model_name(served->rules.model);
  const std::lock_guard lock(mutex_);
  served_ = std::move(served);
}

std::shared_ptr<ServedModel> Service::served() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

HttpResponse Service::refusal(const Problem& problem, const HttpRequest& request) {
  if (const char* reason = rejection_reason(problem))
    metrics_->count("request_rejected_total", fmt::format("reason=\"{}\"", reason));
  return error_response(problem, style_of(request.path), request.id);
}

std::optional<HttpResponse> Service::refuse_by_header(const HttpRequest& header) {
  try {
    (void)destination(header);
    return std::nullopt;
  } catch (const RequestError& error) {
    return refusal(error.problem(), header);
  }
}

void Service::handle(std::shared_ptr<Exchange> exchange) {
  try {
    run(destination(exchange->request()), exchange);
  } catch (...) {
    refuse(exchange, std::current_exception());
  }
}

void Service::refuse(const std::shared_ptr<Exchange>& exchange, const std::exception_ptr& thrown) {
  const HttpRequest& request = exchange->request();
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const Problem problem = problem_of(error, request.id);
    if (problem.status == 500) log_->say(fmt::format("{}: {}", request.id, error.what()));
    exchange->respond(refusal(problem, request));
  } catch (const std::exception& error) {
    log_->say(fmt::format("{}: {}", request.id, error.what()));
    exchange->respond(refusal(internal_problem(request.id), request));
  }
}

Service::Destination Service::destination(const HttpRequest& header) const {
  if (header.method == "OPTIONS") return {};
  const std::string method = header.method == "HEAD" ? "GET" : header.method;
  std::string allowed;
  for (const Route& route : routes_) {
    auto tail = route.match(header.path);
    if (!tail) continue;
    if (route.method == method) {
      check_header(route, header);
      return {.route = &route, .tail = std::move(*tail)};
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (!allowed.empty()) throw RequestError(wrong_method(header.method, allowed + ", OPTIONS"));
  const StaticFile* file = method == "GET" ? find_static_file(header.path) : nullptr;
  if (file == nullptr) throw RequestError(not_found("not_found", "there is nothing at this address"));
  return {.file = file};
}

void Service::check_header(const Route& route, const HttpRequest& header) const {
  using Needs = Route::Needs;
  if (route.needs != Needs::kNothing && !keys_->allow(header))
    throw RequestError(
        {.status = 401,
         .type = "authentication_error",
         .code = "invalid_api_key",
         .message = "a valid API key is needed: Authorization: Bearer KEY, or x-api-key: KEY"});
  if (header.method == "POST" || header.method == "PATCH") check_body_type(header);
  if (draining_ && route.needs == Needs::kWork) throw RequestError(draining_problem());
  if ((route.needs == Needs::kModel || route.needs == Needs::kWork) && !served())
    throw RequestError(loading_problem());
}

void Service::run(const Destination& to, const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  if (to.file != nullptr) return exchange->respond(static_file_response(*to.file, request));
  if (to.route == nullptr) return exchange->respond({.status = 204});
  const Call call{exchange,
                  exchange->request_kept(),
                  served(),
                  metrics_,
                  live_,
                  responses_,
                  states_,
                  log_,
                  to.tail,
                  options_.adapter_folder,
                  keys_->has_admins(),
                  keys_->is_admin(request)};
  if (to.route->run) return to.route->run(call);
  if (to.route->mount) return mount(*to.route, call);
  prepare(*to.route, call);
}

void Service::mount(const Route& route, const Call& call) {
  mounts_.queue([this, &route, call] {
    Reply reply;
    try {
      reply = route.mount(call);
    } catch (...) {
      reply = [thrown = std::current_exception()] { std::rethrow_exception(thrown); };
    }
    call.exchange->post([this, to = call.exchange, reply = std::move(reply)] {
      try {
        reply();
      } catch (...) {
        refuse(to, std::current_exception());
      }
    });
  });
}

void Service::prepare(const Route& route, const Call& call) {
  preparation_.start({.exchange = call.exchange,
                      .live = call.live,
                      .timeout = call.served->rules.timeout,
                      .prepare =
                          [&route, call](const Json& body, auto deadline) {
                            Call prepared = call;
                            prepared.deadline = deadline;
                            return route.prepare(prepared, body);
                          },
                      .refuse = [this, to = call.exchange](auto error) { refuse(to, error); }});
}

HttpResponse Service::malformed(int status, const HttpRequest& known, const std::string& why) {
  metrics_->count("request_rejected_total", "reason=\"invalid\"");
  const char* code = status == 408   ? "request_timeout"
                     : status == 413 ? "body_too_large"
                     : status == 417 ? "expectation_failed"
                     : status == 431 ? "header_too_large"
                                     : "invalid_http";
  return error_response({.status = status, .code = code, .message = why}, style_of(known.path), known.id);
}

void Service::decorate(const HttpRequest& request, HttpResponse& response) {
  response.headers.emplace_back("X-Request-Id", request.id);
  const auto origin = request.header("origin");
  if (!origin) return;
  response.headers.emplace_back("Vary", "Origin");
  const auto& allowed = options_.cors_origins;
  const bool all = std::ranges::find(allowed, "*") != allowed.end();
  if (!all && std::ranges::find(allowed, *origin) == allowed.end()) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", all ? "*" : std::string(*origin));
  response.headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Server-Timing");
  if (request.method != "OPTIONS") return;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS");
  const auto wanted = request.header("access-control-request-headers");
  response.headers.emplace_back("Access-Control-Allow-Headers", wanted ? std::string(*wanted) : "*");
  response.headers.emplace_back("Access-Control-Max-Age", "600");
}

void Service::finished(const HttpRequest& request, const ExchangeRecord& record) {
  const bool known =
      std::ranges::any_of(routes_, [&](const Route& r) { return r.match(request.path).has_value(); });
  std::string handler = "other";
  for (const Route& route : routes_)
    if (known && route.match(request.path)) handler = route.path;
  const std::string labels = fmt::format("handler=\"{}\",method=\"{}\",status=\"{}xx\"", handler,
                                         known ? request.method : std::string("other"), record.status / 100);
  metrics_->count("http_requests_total", labels);
  metrics_->observe("http_request_duration_seconds", record.seconds, labels);
  if (record.dropped) metrics_->count("slow_clients_dropped_total");
  log_->write(request, record);
}

}  // namespace lanner::server
