// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/exchange.h"

namespace lanner::server {

/// Where to listen and how much a client may take.
struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  ///< 0 = any free one
  int threads = 2;
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::uint32_t max_header_bytes = 32 << 10;
  std::size_t stream_buffer_bytes = std::size_t{1} << 20;  ///< unsent bytes after which a client is dropped
  std::size_t max_connections = 8192;
  std::chrono::milliseconds header_timeout{20'000};
  std::chrono::milliseconds body_timeout{120'000};
  std::chrono::milliseconds idle_timeout{75'000};   ///< between requests of a connection
  std::chrono::milliseconds write_timeout{60'000};  ///< without progress
  std::chrono::milliseconds ping_interval{10'000};  ///< of silent streams
  std::string tls_certificate = {};                 ///< PEM file; empty = no TLS
  std::string tls_key = {};
};

/// An HTTP/1.1 server on a few threads. Connections wait for nobody.
class HttpServer {
 public:
  /// Listens; serves nothing yet. Throws Error kIo when the address cannot be had or a TLS file is bad.
  HttpServer(const HttpOptions& options, std::shared_ptr<HttpHandler> handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// Starts the threads.
  void start();
  /// Called on a thread of the server for SIGTERM and SIGINT (first argument: which), each time one comes,
  /// and for SIGHUP. Without it signals do what they do.
  void on_signal(std::function<void(int)> callback);
  /// Runs `work` after `delay` on a thread of the server.
  void run_after(std::chrono::milliseconds delay, std::function<void()> work);
  /// Responses in work now.
  std::size_t active_exchanges() const;
  std::size_t open_connections() const;
  /// Closes every connection and joins the threads.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lanner::server
