// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/adapter_arguments.h"
#include "cli/cli11_app.h"
#include "cli/console.h"
#include "cli/model_arguments.h"
#include "server/response_store.h"

namespace lanner::cli {

struct ServeOptions {
  ModelArguments model = {};
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  int http_threads = 2;
  std::string served_name = {};  ///< empty = the folder's name
  std::vector<std::string> aliases = {};
  std::vector<std::string> api_keys = {};
  std::string api_key_file = {};
  std::vector<std::string> cors_origins = {};
  std::vector<std::string> admin_keys = {};
  std::string state_folder = {};    ///< empty = none
  std::string adapter_folder = {};  ///< empty = none
  AdapterArguments adapters = {};
  std::optional<std::string> default_adapter = {};  ///< none = all of `adapters`
  std::string tls_cert = {};
  std::string tls_key = {};
  std::string log_format = "text";
  std::string reasoning_field = "reasoning_content";
  std::size_t max_body_mib = 64;
  std::size_t stream_buffer_kib = 1024;
  double ping_seconds = 10;
  std::optional<double> request_timeout = {};
  std::optional<double> queue_timeout = {};
  double drain_timeout = 30;
  std::size_t max_sequences = 8;
  std::size_t max_step_tokens = 512;
  std::size_t chunk = 512;
  std::size_t max_queue = 256;
  std::size_t cache_mib = 0;  ///< 0 = what the machine has left
  std::size_t itl_budget_ms = 50;
  std::string admission = "headroom";
  std::size_t response_store_mib = server::ResponseStore::kMostBytes >> 20;
  std::size_t max_tokens = 65536;
  std::size_t draft_tokens = 0;
  std::string embeddings = {};  ///< empty = as the checkpoint says
  bool strict = false;
  bool strict_model = false;
  bool metrics = false;
};

void declare_serve(CLI::App& app, ServeOptions& options);

/// lanner serve [FOLDER]: answers HTTP until SIGTERM or SIGINT.
int serve_command(const ServeOptions& options, Console& console);

}  // namespace lanner::cli
