// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "server/exchange.h"
#include "server/http_server.h"

namespace lanner::server {

/// What all connections of a server share.
struct ConnectionContext {
  ConnectionContext(const HttpOptions& its_options, HttpHandler& its_handler)
      : options(its_options), handler(its_handler) {}

  const HttpOptions& options;
  HttpHandler& handler;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> exchanges{0};
};

}  // namespace lanner::server
