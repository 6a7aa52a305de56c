// SPDX-License-Identifier: MIT
#include "cli/serve_command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_loading.h"
#include "cli/validators.h"
#include "core/error.h"
#include "io/message_text.h"
#include "server/serving.h"

namespace lanner::cli {
namespace {

constexpr const char* kNetwork = "Network";
constexpr const char* kAccess = "Access";
constexpr const char* kWork = "Work";
constexpr const char* kRequests = "Requests";
constexpr double kLongestSeconds = 1e6;

void add_network_options(CLI::App& app, ServeOptions& options) {
  app.add_option("--host", options.host, "address to listen on (default: 127.0.0.1, this machine only)")
      ->group(kNetwork);
  app.add_option("--port", options.port, "port (default: 8080); 0 = any free one")
      ->check(whole_between(0, 65535))
      ->group(kNetwork);
  app.add_option("--http-threads", options.http_threads, "threads for connections (default: 2)")
      ->check(whole_between(1, 64))
      ->group(kNetwork);
  app.add_option("--tls-cert", options.tls_cert, "certificate chain, PEM; with --tls-key serves https")
      ->type_name("FILE")
      ->group(kNetwork);
  app.add_option("--tls-key", options.tls_key, "private key, PEM")->type_name("FILE")->group(kNetwork);
  app.add_option("--max-body", options.max_body_mib, "largest request body in MiB (default: 64)")
      ->check(whole_between(1, 4096))
      ->group(kNetwork);
  app.add_option("--stream-buffer", options.stream_buffer_kib,
                 "unsent KiB after which a slow reader is dropped (default: 1024)")
      ->check(whole_between(16, 1 << 20))
      ->group(kNetwork);
  app.add_option("--sse-ping", options.ping_seconds,
                 "seconds of silence after which a stream is pinged (default: 10)")
      ->check(number_between(0.05, kLongestSeconds))
      ->group(kNetwork);
  app.add_option("--log-format", options.log_format,
                 "access log on standard error: text (default), json, none")
      ->check(CLI::IsMember({"text", "json", "none"}))
      ->group(kNetwork);
}

void add_access_options(CLI::App& app, ServeOptions& options) {
  app.add_option("--api-key", options.api_keys, "a key that clients must send; may be repeated")
      ->type_name("KEY")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kAccess);
  app.add_option("--api-key-file", options.api_key_file, "file of keys, one a line; read again on SIGHUP")
      ->type_name("FILE")
      ->group(kAccess);
  app.add_option("--admin-key", options.admin_keys,
                 "a key that clients must send to mount adapters and to save states; may be repeated")
      ->type_name("KEY")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kAccess);
  app.add_option("--cors-origins", options.cors_origins,
                 "origins whose pages may use the server; * = all (default: none)")
      ->type_name("ORIGIN,...")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false)
      ->group(kAccess);
  app.add_option("--state-dir", options.state_folder,
                 "folder where /v1/state/save and /v1/state/load keep states (default: none, no states)")
      ->type_name("FOLDER")
      ->group(kAccess);
  app.add_flag("--metrics", options.metrics, "serve /metrics on other addresses than loopback too")
      ->group(kAccess);
}

void add_work_options(CLI::App& app, ServeOptions& options) {
  app.add_option("--max-sequences,--parallel", options.max_sequences, "answers made at once (default: 8)")
      ->check(whole_between(1, 4096))
      ->group(kWork);
  app.add_option("--max-step-tokens", options.max_step_tokens, "tokens of one forward pass (default: 512)")
      ->check(whole_between(64, 1 << 20))
      ->group(kWork);
  app.add_option("--chunk", options.chunk, "prompt tokens of one sequence in one pass (default: 512)")
      ->check(whole_between(64, 1 << 20))
      ->group(kWork);
  app.add_option("--max-queue", options.max_queue, "waiting requests; more get 429 (default: 256)")
      ->check(whole_between(1, 1 << 20))
      ->group(kWork);
  app.add_option("--kv-cache", options.cache_mib,
                 "MiB for the caches of all sequences (default: what the machine has left)")
      ->check(whole_between(0, 1 << 30))
      ->group(kWork);
  app.add_option("--itl-budget-ms", options.itl_budget_ms,
                 "prompts yield to keep steps under this many milliseconds (default: 50; 0 = never)")
      ->check(whole_between(0, 1'000'000))
      ->group(kWork);
  app.add_option(
         "--admission", options.admission,
         "headroom (default): start an answer when the next 1024 tokens fit; strict: when all of it does")
      ->check(CLI::IsMember({"headroom", "strict"}))
      ->group(kWork);
  app.add_option("--draft", options.draft_tokens,
                 "guess up to N tokens ahead; changes no result; 0 = off (default)")
      ->check(whole_between(0, 16))
      ->group(kWork);
}

void add_request_options(CLI::App& app, ServeOptions& options) {
  app.add_option("--served-name", options.served_name,
                 "the model's id for clients (default: the folder's name)")
      ->group(kRequests);
  app.add_option("--alias", options.aliases, "another name for it; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kRequests);
  app.add_option("--max-tokens", options.max_tokens,
                 "longest chat answer when a request gives none (default: 65536)")
      ->check(whole_between(1, 1 << 30))
      ->group(kRequests);
  app.add_option("--request-timeout", options.request_timeout,
                 "seconds a request may take (default: no limit)")
      ->check(number_between(0.001, kLongestSeconds))
      ->group(kRequests);
  app.add_option("--queue-timeout", options.queue_timeout, "seconds a request may wait (default: no limit)")
      ->check(number_between(0.001, kLongestSeconds))
      ->group(kRequests);
  app.add_option("--drain-timeout", options.drain_timeout,
                 "seconds running answers get after SIGTERM (default: 30)")
      ->check(number_between(0, kLongestSeconds))
      ->group(kRequests);
  app.add_option("--response-store", options.response_store_mib,
                 "MiB for answers that later /v1/responses continue (default: 32); 0 = none is kept")
      ->check(whole_between(0, 1 << 20))
      ->group(kRequests);
  app.add_option("--reasoning-field", options.reasoning_field,
                 "what thoughts are called: reasoning_content (default), reasoning, both")
      ->check(CLI::IsMember({"reasoning_content", "reasoning", "both"}))
      ->group(kRequests);
  app.add_option("--embeddings", options.embeddings,
                 "serve /v1/embeddings from the final hidden states: last (token), mean (default: as the "
                 "checkpoint says, else not)")
      ->check(CLI::IsMember({"last", "mean"}))
      ->group(kRequests);
  app.add_flag("--strict", options.strict, "refuse fields that no route knows")->group(kRequests);
  app.add_flag("--strict-model", options.strict_model, "refuse names of other models")->group(kRequests);
}

void add_adapter_options(CLI::App& app, ServeOptions& options) {
  add_adapter_option(app, options.adapters, "all together for requests that name none");
  app.add_option("--default-adapter", options.default_adapter,
                 "what such requests get instead: none, or ids such as a+b@0.5")
      ->type_name("ADAPTER")
      ->group("Adapters");
  app.add_option("--adapter-dir", options.adapter_folder,
                 "folder of adapters that clients may mount (default: none)")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->group("Adapters");
}

/// Mounts the adapters of the command line, and says which of them requests get that name none.
void mount_at_start(const ServeOptions& options, server::ServedModel& served, Console& console) {
  const auto all = mount_adapters(options.adapters, *served.engine, console);
  if (options.default_adapter) {
    served.rules.adapters = engine::parse_adapter_choices(*options.default_adapter);
    served.engine->adapters().select(served.rules.adapters);  // throws for one that is not there
  } else if (all) {
    for (const std::string& id : all->ids) served.rules.adapters.push_back({.id = id});
  }
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

engine::EngineOptions serving_engine(const ServeOptions& options) {
  engine::EngineOptions engine{.threads = options.model.thread_count(),
                               .max_sequences = options.max_sequences,
                               .max_step_tokens = std::max(options.max_step_tokens, options.chunk),
                               .prefill_chunk = options.chunk,
                               .max_queue = options.max_queue,
                               .inter_token_budget = std::chrono::milliseconds(options.itl_budget_ms)};
  if (options.cache_mib > 0) engine.cache_bytes = options.cache_mib << 20;
  if (options.admission == "strict") engine.headroom_tokens = std::nullopt;
  return engine;
}

server::RequestRules request_rules(const ServeOptions& options, const std::filesystem::path& folder) {
  using server::ReasoningField;
  server::RequestRules rules{.model = options.served_name, .aliases = options.aliases};
  if (rules.model.empty()) rules.model = std::filesystem::weakly_canonical(folder).filename().string();
  rules.chat_tokens = options.max_tokens;
  rules.draft_tokens = options.draft_tokens;
  if (options.embeddings == "last") rules.pooling = engine::Pooling::kLast;
  if (options.embeddings == "mean") rules.pooling = engine::Pooling::kMean;
  if (options.request_timeout) rules.timeout = milliseconds(*options.request_timeout);
  if (options.queue_timeout) rules.queue_timeout = milliseconds(*options.queue_timeout);
  if (options.strict) rules.unknown_fields = server::UnknownFields::kRefused;
  if (options.strict_model) rules.unknown_models = server::UnknownModels::kRefused;
  if (options.reasoning_field == "reasoning") rules.reasoning_field = ReasoningField::kReasoning;
  if (options.reasoning_field == "both") rules.reasoning_field = ReasoningField::kBoth;
  return rules;
}

server::ServingOptions serving_options(const ServeOptions& options) {
  server::ServingOptions serving;
  serving.http = {.host = options.host,
                  .port = options.port,
                  .threads = options.http_threads,
                  .max_body_bytes = options.max_body_mib << 20,
                  .stream_buffer_bytes = options.stream_buffer_kib << 10,
                  .ping_interval = milliseconds(options.ping_seconds),
                  .tls_certificate = options.tls_cert,
                  .tls_key = options.tls_key};
  serving.service = {.version = LANNER_VERSION,
                     .cors_origins = options.cors_origins,
                     .metrics = options.metrics || is_loopback(options.host),
                     .response_store_bytes = options.response_store_mib << 20};
  if (!options.state_folder.empty()) serving.service.state_folder = options.state_folder;
  if (!options.adapter_folder.empty()) serving.service.adapter_folder = options.adapter_folder;
  serving.admin_keys = options.admin_keys;
  serving.api_keys = options.api_keys;
  if (!options.api_key_file.empty()) serving.api_key_file = options.api_key_file;
  serving.log_format = options.log_format == "json"   ? server::LogFormat::kJson
                       : options.log_format == "none" ? server::LogFormat::kNone
                                                      : server::LogFormat::kText;
  serving.drain_timeout = milliseconds(options.drain_timeout);
  return serving;
}

/// Lets the threads that this one starts from here on, which compute, give way to those of connections. A
/// token's way to its client is a tenth of a millisecond of work; with equal priority it first waits for the
/// end of a computing thread's slice, for some milliseconds.
void compute_below_connections() {
  constexpr int kStep = 5;
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);  // of this thread: Linux has one for each
  if (errno == 0) (void)::setpriority(PRIO_PROCESS, 0, nice + kStep);
}

}  // namespace

void declare_serve(CLI::App& app, ServeOptions& options) {
  add_folder(app, options.model);
  add_network_options(app, options);
  add_access_options(app, options);
  add_work_options(app, options);
  add_request_options(app, options);
  add_adapter_options(app, options);
  add_machine_options(app, options.model);
  set_examples(
      app,
      "  lanner serve\n"
      "  lanner serve FOLDER --port 9000 --parallel 16\n"
      "  lanner serve FOLDER --adapter pirate --adapter poet@0.7 --default-adapter none\n"
      "  lanner serve FOLDER --host 0.0.0.0 --api-key-file keys.txt --tls-cert c.pem --tls-key k.pem\n"
      "  curl localhost:8080/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'\n");
}

int serve_command(const ServeOptions& options, Console& console) {
  if (options.tls_cert.empty() != options.tls_key.empty())
    throw CLI::ValidationError("--tls-cert and --tls-key go together");
  const std::filesystem::path folder = options.model.find_folder();
  server::Serving serving(serving_options(options), console.log);
  const char* scheme = options.tls_cert.empty() ? "http" : "https";
  console.log << fmt::format("lanner: listening on {}://{}:{}\n", scheme, options.host, serving.port());
  if (!is_loopback(options.host) && options.api_keys.empty() && options.api_key_file.empty())
    console.log << "lanner: warning: everybody who reaches " << options.host
                << " may use this server; --api-key restricts it\n";
  console.log << std::flush;
  compute_below_connections();
  const auto model = load_model(options.model, console, [&](double share) { serving.set_progress(share); });
  auto served = server::serve_model(model, serving_engine(options), request_rules(options, folder));
  mount_at_start(options, *served, console);
  serving.set_model(std::move(served));
  console.log << "lanner: " << io::printable(folder.native()) << " is ready\n" << std::flush;
  return serving.wait() ? kExitOk : exit_code_after(serving.ended_by());
}

}  // namespace lanner::cli
