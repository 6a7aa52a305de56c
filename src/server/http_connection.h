// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/connection_context.h"
#include "server/request_ids.h"
#include "server/response_head.h"

namespace lanner::server {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

/// One client: reads a request, lets the handler answer, and again. Everything runs on the socket's strand.
/// Only http_connection*.h and http_server.cpp know Boost.
template <typename Stream>
class HttpConnection final : public Exchange, public std::enable_shared_from_this<HttpConnection<Stream>> {
 public:
  HttpConnection(Stream stream, std::shared_ptr<ConnectionContext> context)
      : stream_(std::move(stream)),
        context_(std::move(context)),
        watchdog_(stream_.get_executor()),
        ping_(stream_.get_executor()),
        probe_(stream_.get_executor()),
        limit_(stream_.get_executor()),
        buffer_(std::max(kReadAhead, std::size_t{context_->options.max_header_bytes})) {
    ++context_->connections;
  }
  ~HttpConnection() override { --context_->connections; }

  /// Starts with the first request, after the TLS handshake where there is one.
  void run() {
    error_code ignored;
    const auto peer = socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
    socket().set_option(Tcp::no_delay(true), ignored);
    socket().non_blocking(true, ignored);
    if constexpr (kTls) {
      guard(context_->options.header_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](error_code error) {
                                if (!error) self->read_request();
                              });
    } else {
      read_request();
    }
  }

  const HttpRequest& request() const override { return *request_; }
  std::shared_ptr<const HttpRequest> request_kept() const override { return request_; }
  void respond(HttpResponse response) override;
  void start_stream(HttpResponse head) override;
  void send(std::string data) override;
  void finish() override;
  void abort() override { close(); }
  void on_gone(std::function<void()> callback) override { gone_ = std::move(callback); }
  void on_silence(std::function<std::string()> note) override {
    silence_ = std::move(note);
    last_sent_ = std::chrono::steady_clock::now();
    schedule_ping();
  }
  void on_deadline(std::chrono::steady_clock::time_point when, std::function<void()> callback) override {
    limit_.expires_at(when);
    limit_.async_wait([callback = std::move(callback)](error_code error) {
      if (!error) callback();
    });
  }
  void post(std::function<void()> work) override { asio::post(stream_.get_executor(), std::move(work)); }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, Tcp::socket>;
  static constexpr std::size_t kReadAhead = 4096;
  static constexpr std::size_t kWritePiece = 65536;
  static constexpr std::chrono::milliseconds kLinger{1000};
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();
  using Parser = http::request_parser<http::string_body>;

  Tcp::socket& socket() {
    if constexpr (kTls)
      return stream_.next_layer();
    else
      return stream_;
  }

  bool skip_empty_lines();
  void read_request();
  void got_header(error_code error);
  void read_body();
  void invite_body();
  void got_request(error_code error);
  void take_header();
  void begin_exchange();
  void refuse(int status, const std::string& why);
  void refuse(HttpResponse refusal);
  void refuse_unreadable(error_code error);
  void handle();
  void watch_client();
  void watch_behind_buffer();
  void client_spoke(error_code error, std::size_t bytes);
  void client_ended();
  void look_for_reset();
  void probe_client();
  void begin_response(HttpResponse response, BodyLength length);
  void end_idle();
  void linger();
  void end_sending();
  void discard();
  void write_at_once();
  void write_pending();
  void wrote(error_code error);
  void response_sent();
  void record(int status);
  void schedule_ping();
  void guard(std::chrono::milliseconds limit);
  void unguard();
  void watch();
  void time_is_up();
  void close();

  Stream stream_;
  std::shared_ptr<ConnectionContext> context_;
  asio::steady_timer watchdog_, ping_, probe_, limit_;
  /// Never holds more than a header may have: trailers and lines of chunks wait in it until they are whole.
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<HttpRequest> request_ = std::make_shared<HttpRequest>();
  std::string peer_;
  std::function<void()> gone_;
  std::function<std::string()> silence_;
  std::chrono::steady_clock::time_point began_{}, last_sent_{};
  std::chrono::steady_clock::time_point deadline_ = kNever;  ///< when the client has used up its time

  std::string pending_, writing_;  ///< bytes to send; bytes being sent
  int status_ = 0;
  std::size_t body_bytes_ = 0;
  bool in_exchange_ = false;  ///< between a request and the end of its response
  bool head_sent_ = false, chunked_ = false, keep_open_ = false;
  bool complete_ = false;      ///< nothing comes after what is pending
  bool is_guarding_ = false;   ///< the watchdog runs
  bool is_reading_ = false;    ///< a request, to its end
  bool is_late_ = false;       ///< the request's time was used up before its end
  bool is_ending_ = false;     ///< no request comes any more
  bool sent_all_ = false;      ///< the client was told that no byte comes any more
  bool awaits_reset_ = false;  ///< for as long as the connection lasts
  bool is_writing_ = false, is_watching_ = false, is_peeking_ = false, closed_ = false, dropped_ = false;
};

/// Limits change with every piece of a stream: the timer runs to the earliest and looks what is left then.
template <typename Stream>
void HttpConnection<Stream>::guard(std::chrono::milliseconds limit) {
  deadline_ = std::chrono::steady_clock::now() + limit;
  if (!is_guarding_ || deadline_ < watchdog_.expiry()) watch();
}

template <typename Stream>
void HttpConnection<Stream>::unguard() {
  deadline_ = kNever;
}

template <typename Stream>
void HttpConnection<Stream>::watch() {
  is_guarding_ = true;
  watchdog_.expires_at(deadline_);
  watchdog_.async_wait([weak = this->weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!self || error) return;  // replaced by an earlier one
    self->is_guarding_ = false;
    if (self->deadline_ <= std::chrono::steady_clock::now()) return self->time_is_up();
    if (self->deadline_ != kNever) self->watch();
  });
}

template <typename Stream>
void HttpConnection<Stream>::time_is_up() {
  if (is_ending_ || in_exchange_) {
    dropped_ = in_exchange_ && is_writing_;
    return close();
  }
  if (is_reading_ && !is_late_ && parser_->got_some()) {
    is_late_ = true;
    error_code ignored;
    socket().cancel(ignored);  // refuse_unreadable() says why
    return;
  }
  if (is_reading_ || is_watching_) return end_idle();
  close();
}

template <typename Stream>
void HttpConnection<Stream>::close() {
  if (std::exchange(closed_, true)) return;
  error_code ignored;
  socket().shutdown(Tcp::socket::shutdown_both, ignored);
  socket().close(ignored);
  watchdog_.cancel();
  ping_.cancel();
  probe_.cancel();
  limit_.cancel();
  if (!in_exchange_) return;
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
  record(dropped_ || !complete_ ? 499 : status_);
}

template <typename Stream>
void HttpConnection<Stream>::record(int status) {
  in_exchange_ = false;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began_;
  context_->handler.finished(*request_, {status, body_bytes_, taken.count(), dropped_});
  --context_->exchanges;
}

}  // namespace lanner::server

#include "server/http_connection_read.h"
#include "server/http_connection_write.h"
