// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

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
/// Only this file and http_server.cpp know Boost.
template <typename Stream>
class HttpConnection final : public Exchange, public std::enable_shared_from_this<HttpConnection<Stream>> {
 public:
  HttpConnection(Stream stream, std::shared_ptr<ConnectionContext> context)
      : stream_(std::move(stream)),
        context_(std::move(context)),
        watchdog_(stream_.get_executor()),
        ping_(stream_.get_executor()) {
    ++context_->connections;
  }
  ~HttpConnection() override { --context_->connections; }

  /// Starts with the first request, after the TLS handshake where there is one.
  void run() {
    error_code ignored;
    const auto peer = socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
    socket().set_option(Tcp::no_delay(true), ignored);
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

  const HttpRequest& request() const override { return request_; }
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
  void post(std::function<void()> work) override { asio::post(stream_.get_executor(), std::move(work)); }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, Tcp::socket>;
  static constexpr std::size_t kReadAhead = 4096;
  static constexpr std::chrono::milliseconds kLinger{1000};
  using Parser = http::request_parser<http::string_body>;

  Tcp::socket& socket() {
    if constexpr (kTls)
      return stream_.next_layer();
    else
      return stream_;
  }

  void read_request();
  void got_header(error_code error);
  void read_body();
  void got_request(error_code error);
  void take_request();
  void refuse(int status, const std::string& why);
  void refuse_unreadable(error_code error);
  void handle();
  void watch_client();
  void client_spoke(error_code error, std::size_t bytes);
  void begin_response(HttpResponse response, BodyLength length);
  void linger();
  void discard();
  void write_pending();
  void wrote(error_code error);
  void response_sent();
  void record(int status);
  void schedule_ping();
  void guard(std::chrono::milliseconds limit);
  void close();

  Stream stream_;
  std::shared_ptr<ConnectionContext> context_;
  asio::steady_timer watchdog_, ping_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  std::string peer_;
  std::function<void()> gone_;
  std::function<std::string()> silence_;
  std::chrono::steady_clock::time_point began_{}, last_sent_{};

  std::string pending_, writing_;  ///< bytes to send; bytes being sent
  int status_ = 0;
  std::size_t body_bytes_ = 0;
  bool in_exchange_ = false;  ///< between a request and the end of its response
  bool head_sent_ = false, chunked_ = false, keep_open_ = false;
  bool complete_ = false;  ///< nothing comes after what is pending
  bool is_writing_ = false, is_watching_ = false, closed_ = false, dropped_ = false;
};

template <typename Stream>
void HttpConnection<Stream>::guard(std::chrono::milliseconds limit) {
  watchdog_.expires_after(limit);
  watchdog_.async_wait([weak = this->weak_from_this()](error_code error) {
    if (const auto self = weak.lock(); self && !error) self->close();
  });
}

template <typename Stream>
void HttpConnection<Stream>::close() {
  if (std::exchange(closed_, true)) return;
  error_code ignored;
  socket().shutdown(Tcp::socket::shutdown_both, ignored);
  socket().close(ignored);
  watchdog_.cancel();
  ping_.cancel();
  if (!in_exchange_) return;
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
  record(dropped_ || !complete_ ? 499 : status_);
}

template <typename Stream>
void HttpConnection<Stream>::read_request() {
  parser_.emplace();
  parser_->header_limit(context_->options.max_header_bytes);
  parser_->body_limit(context_->options.max_body_bytes);
  guard(buffer_.size() > 0 ? context_->options.header_timeout : context_->options.idle_timeout);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = this->shared_from_this()](error_code error, std::size_t) { self->got_header(error); });
}

template <typename Stream>
void HttpConnection<Stream>::got_header(error_code error) {
  began_ = std::chrono::steady_clock::now();
  if (error) return refuse_unreadable(error);
  const auto expect = parser_->get().find(http::field::expect);
  if (expect == parser_->get().end() ||
      !equal_ignoring_case({expect->value().data(), expect->value().size()}, "100-continue"))
    return read_body();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = this->shared_from_this()](error_code failed, std::size_t) {
                      if (failed) return self->close();
                      self->read_body();
                    });
}

template <typename Stream>
void HttpConnection<Stream>::read_body() {
  guard(context_->options.body_timeout);
  http::async_read(
      stream_, buffer_, *parser_,
      [self = this->shared_from_this()](error_code error, std::size_t) { self->got_request(error); });
}

template <typename Stream>
void HttpConnection<Stream>::refuse_unreadable(error_code error) {
  if (error == http::error::end_of_stream || error == asio::error::eof ||
      error == asio::error::operation_aborted || error == asio::error::connection_reset || closed_)
    return close();
  if (error == http::error::body_limit)
    return refuse(413, fmt::format("the body exceeds {} bytes", context_->options.max_body_bytes));
  if (error == http::error::header_limit)
    return refuse(431, fmt::format("the header exceeds {} bytes", context_->options.max_header_bytes));
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::partial_message)
    return refuse(400, "the request is not HTTP/1.1: " + error.message());
  close();
}

template <typename Stream>
void HttpConnection<Stream>::take_request() {
  auto& message = parser_->get();
  request_ = HttpRequest{};
  request_.method = std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t question = target.find('?');
  request_.path = target.substr(0, question);
  if (question != std::string::npos) request_.query = target.substr(question + 1);
  for (const auto& field : message)
    request_.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request_.body = std::move(message.body());
  request_.peer = peer_;
  const auto id = request_.header("x-request-id");
  request_.id = id && is_request_id(*id) ? std::string(*id) : random_id("req_");
  keep_open_ = message.keep_alive();
  chunked_ = message.version() >= 11;
  status_ = 0;
  body_bytes_ = 0;
  head_sent_ = complete_ = false;
  in_exchange_ = true;
  ++context_->exchanges;
}

template <typename Stream>
void HttpConnection<Stream>::refuse(int status, const std::string& why) {
  take_request();
  keep_open_ = false;  // what follows on the connection cannot be told apart
  respond(context_->handler.malformed(status, request_, why));
}

template <typename Stream>
void HttpConnection<Stream>::got_request(error_code error) {
  if (error) return refuse_unreadable(error);
  watchdog_.cancel();
  take_request();
  handle();
}

template <typename Stream>
void HttpConnection<Stream>::handle() {
  watch_client();
  context_->handler.handle(this->shared_from_this());
}

/// Reads on while a response is made: only so a client that leaves is noticed. What a client sends ahead
/// waits in the buffer.
template <typename Stream>
void HttpConnection<Stream>::watch_client() {
  if (is_watching_ || buffer_.size() > 0) return;
  is_watching_ = true;
  stream_.async_read_some(buffer_.prepare(kReadAhead),
                          [self = this->shared_from_this()](error_code error, std::size_t bytes) {
                            self->client_spoke(error, bytes);
                          });
}

template <typename Stream>
void HttpConnection<Stream>::client_spoke(error_code error, std::size_t bytes) {
  is_watching_ = false;
  if (error) return close();
  buffer_.commit(bytes);
  if (in_exchange_) return;
  if (keep_open_)
    read_request();
  else
    discard();
}

template <typename Stream>
void HttpConnection<Stream>::begin_response(HttpResponse response, BodyLength length) {
  if (closed_ || head_sent_) return;
  head_sent_ = true;
  context_->handler.decorate(request_, response);
  status_ = response.status;
  pending_ += response_head(response, length, keep_open_ ? Persistence::kKeepAlive : Persistence::kClose);
}

template <typename Stream>
void HttpConnection<Stream>::respond(HttpResponse response) {
  if (closed_ || head_sent_) return;
  begin_response(response, BodyLength::kKnown);
  body_bytes_ = response.body.size();
  if (request_.method != "HEAD") pending_ += response.body;
  complete_ = true;
  write_pending();
}

template <typename Stream>
void HttpConnection<Stream>::start_stream(HttpResponse head) {
  if (!chunked_) keep_open_ = false;  // HTTP/1.0 ends a body by closing
  begin_response(std::move(head), chunked_ ? BodyLength::kChunked : BodyLength::kUntilClose);
  write_pending();
}

template <typename Stream>
void HttpConnection<Stream>::send(std::string data) {
  if (closed_ || complete_ || data.empty()) return;
  body_bytes_ += data.size();
  last_sent_ = std::chrono::steady_clock::now();
  if (chunked_)
    fmt::format_to(std::back_inserter(pending_), "{:x}\r\n{}\r\n", data.size(), data);
  else
    pending_ += data;
  if (pending_.size() > context_->options.stream_buffer_bytes) {
    dropped_ = true;
    return close();
  }
  write_pending();
}

template <typename Stream>
void HttpConnection<Stream>::finish() {
  if (closed_ || complete_) return;
  complete_ = true;
  ping_.cancel();
  if (chunked_) pending_ += "0\r\n\r\n";
  write_pending();
}

template <typename Stream>
void HttpConnection<Stream>::write_pending() {
  if (is_writing_ || closed_) return;
  if (pending_.empty()) {
    if (complete_ && in_exchange_) response_sent();
    return;
  }
  is_writing_ = true;
  writing_.swap(pending_);
  pending_.clear();
  guard(context_->options.write_timeout);
  asio::async_write(stream_, asio::buffer(writing_),
                    [self = this->shared_from_this()](error_code error, std::size_t) { self->wrote(error); });
}

template <typename Stream>
void HttpConnection<Stream>::wrote(error_code error) {
  is_writing_ = false;
  watchdog_.cancel();
  if (error) return close();
  write_pending();
}

template <typename Stream>
void HttpConnection<Stream>::response_sent() {
  gone_ = nullptr;
  silence_ = nullptr;
  record(status_);
  if (!keep_open_) return linger();
  if (is_watching_)
    guard(context_->options.idle_timeout);  // client_spoke() goes on
  else
    read_request();
}

/// Closing while a client still sends would reset the connection and lose the response on its way: says that
/// nothing more comes and reads on for a moment.
template <typename Stream>
void HttpConnection<Stream>::linger() {
  error_code ignored;
  socket().shutdown(Tcp::socket::shutdown_send, ignored);
  guard(kLinger);
  discard();
}

template <typename Stream>
void HttpConnection<Stream>::discard() {
  if (closed_ || is_watching_) return;  // client_spoke() comes here
  is_watching_ = true;
  buffer_.clear();
  socket().async_read_some(buffer_.prepare(kReadAhead),
                           [self = this->shared_from_this()](error_code error, std::size_t) {
                             self->is_watching_ = false;
                             if (error) return self->close();
                             self->discard();
                           });
}

template <typename Stream>
void HttpConnection<Stream>::record(int status) {
  in_exchange_ = false;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began_;
  context_->handler.finished(request_, {status, body_bytes_, taken.count(), dropped_});
  --context_->exchanges;
}

template <typename Stream>
void HttpConnection<Stream>::schedule_ping() {
  ping_.expires_at(last_sent_ + context_->options.ping_interval);
  ping_.async_wait([weak = this->weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!self || error || self->closed_ || self->complete_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - self->last_sent_ >= self->context_->options.ping_interval) {
      self->last_sent_ = now;
      if (self->silence_) self->send(self->silence_());
    }
    if (!self->closed_ && self->silence_) self->schedule_ping();
  });
}

}  // namespace lanner::server
