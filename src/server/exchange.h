// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http_message.h"

namespace lanner::server {

/// One request and its response on a connection. Everything but post() is called on the connection's strand,
/// where a handler runs and where post() leads.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const HttpRequest& request() const = 0;
  /// The same for who may need it longer than the response takes.
  virtual std::shared_ptr<const HttpRequest> request_kept() const = 0;
  /// The whole response. Call this or start_stream(), once.
  virtual void respond(HttpResponse response) = 0;
  /// The beginning of a response whose body comes by send(); it leaves with the first of the body.
  virtual void start_stream(HttpResponse head) = 0;
  /// More of the body. A client that reads too slowly for the buffer is dropped.
  virtual void send(std::string data) = 0;
  /// The body is complete.
  virtual void finish() = 0;
  /// The response cannot be completed: closes the connection, so that the client sees it is cut.
  virtual void abort() = 0;
  /// Called once when the client is gone before the response is complete; forgotten when it is.
  virtual void on_gone(std::function<void()> callback) = 0;
  /// Called whenever nothing was sent for the server's ping interval; what it returns is sent. It may have
  /// started the stream.
  virtual void on_silence(std::function<std::string()> note) = 0;
  /// Called at `when`, unless the response has begun; its owner may be gone by then. Replaces the one before.
  virtual void on_deadline(std::chrono::steady_clock::time_point when, std::function<void()> callback) = 0;
  /// Runs `work` on the strand. From any thread.
  virtual void post(std::function<void()> work) = 0;
};

/// How an exchange ended.
struct ExchangeRecord {
  int status = 0;         ///< 499: the client went away
  std::size_t bytes = 0;  ///< of the body
  double seconds = 0;     ///< from the request's first byte
  bool dropped = false;   ///< the client read too slowly
};

/// What a server does with requests.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// The response to a request whose header alone rules it out; nothing = its body is worth sending.
  virtual std::optional<HttpResponse> refuse_by_header(const HttpRequest& header) = 0;
  /// Must respond in time, also by throwing.
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  /// The response to a request that is no HTTP, or exceeds a limit: `status` 400, 408, 413, 417, 431.
  virtual HttpResponse malformed(int status, const HttpRequest& known, const std::string& why) = 0;
  /// Adds the header fields that every response has.
  virtual void decorate(const HttpRequest& request, HttpResponse& response) = 0;
  virtual void finished(const HttpRequest& request, const ExchangeRecord& record) = 0;
};

}  // namespace lanner::server
