// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "server/http_connection.h"

/// How a connection reads requests, and notices while it answers that its client leaves.
namespace lanner::server {

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// Why a header leaves open where its request ends or whom it is for, so that a proxy could see it otherwise:
/// RFC 9112, sections 3.2 and 6.1. Null when all is well. (The parser refuses contradicting lengths itself.)
inline const char* framing_fault(const http::request_header<>& header) {
  const auto encodings = header.equal_range(http::field::transfer_encoding);
  const auto count = std::distance(encodings.first, encodings.second);
  if (count > 1) return "the header has more than one Transfer-Encoding";
  if (count == 1) {
    const auto value = encodings.first->value();
    if (header.version() < 11) return "HTTP/1.0 knows no Transfer-Encoding";
    if (!equal_ignoring_case({value.data(), value.size()}, "chunked"))
      return "the Transfer-Encoding is not chunked alone";
  }
  if (header.version() >= 11 && header.count(http::field::host) != 1) return "the header must have one Host";
  return nullptr;
}

/// The target without the scheme and the host that a proxy's client writes before it: RFC 9112,
/// section 3.2.2.
inline std::string origin_form(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    if (path == std::string_view::npos) return "/";
    return (target[path] == '?' ? "/" : "") + std::string(target.substr(path));
  }
  return std::string(target);
}

/// Empty lines ahead of a request, which some clients send behind a body, maybe in parts: RFC 9112,
/// section 2.2.
template <typename Stream>
bool HttpConnection<Stream>::skip_empty_lines() {
  const auto data = buffer_.cdata();
  const std::string_view bytes(static_cast<const char*>(data.data()), data.size());
  const std::size_t empty = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
  buffer_.consume(empty);
  return empty > 0;
}

template <typename Stream>
void HttpConnection<Stream>::read_request() {
  skip_empty_lines();
  is_reading_ = true;
  is_late_ = false;
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
  if (is_ending_) return;
  if (error == http::error::bad_method && skip_empty_lines()) return read_request();
  take_header();
  if (error) return refuse_unreadable(error);
  if (const char* fault = framing_fault(parser_->get())) return refuse(400, fault);
  // HTTP/1.0 knows no interim response: RFC 9110, section 10.1.1.
  const auto expectation = chunked_ ? request_->header("expect") : std::nullopt;
  if (!expectation) return read_body();
  if (!equal_ignoring_case(*expectation, "100-continue"))
    return refuse(417, "only 100-continue can be expected");
  if (auto refusal = context_->handler.refuse_by_header(*request_)) return refuse(std::move(*refusal));
  invite_body();
}

template <typename Stream>
void HttpConnection<Stream>::invite_body() {
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
  if (closed_) return;
  if (is_late_) return refuse(408, "the request did not arrive whole in the time there is for it");
  if (error == http::error::end_of_stream || error == asio::error::eof) return end_idle();
  if (error == asio::error::operation_aborted || error == asio::error::connection_reset) return close();
  if (error == http::error::body_limit)
    return refuse(413, fmt::format("the body exceeds {} bytes", context_->options.max_body_bytes));
  if (error == http::error::header_limit)
    return refuse(431, fmt::format("the header exceeds {} bytes", context_->options.max_header_bytes));
  if (error == http::error::buffer_overflow)
    return refuse(431, fmt::format("the trailer, or the line of a chunk, exceeds {} bytes",
                                   context_->options.max_header_bytes));
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::partial_message)
    return refuse(400, "the request is not HTTP/1.1: " + error.message());
  close();
}

/// Before the body: what a trailer says behind it must count for nothing (RFC 9110, section 6.5.1), and the
/// parser adds its fields to the header's.
template <typename Stream>
void HttpConnection<Stream>::take_header() {
  const auto& message = parser_->get();
  request_ = std::make_shared<HttpRequest>();
  request_->method = std::string(message.method_string());
  const std::string target = origin_form({message.target().data(), message.target().size()});
  const std::size_t question = target.find('?');
  request_->path = target.substr(0, question);
  if (question != std::string::npos) request_->query = target.substr(question + 1);
  for (const auto& field : message)
    request_->headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request_->peer = peer_;
  const auto id = request_->header("x-request-id");
  request_->id = id && is_request_id(*id) ? std::string(*id) : random_id("req_");
  keep_open_ = message.keep_alive();
  chunked_ = message.version() >= 11;
}

/// From here on a response is due.
template <typename Stream>
void HttpConnection<Stream>::begin_exchange() {
  status_ = 0;
  body_bytes_ = 0;
  head_sent_ = complete_ = false;
  is_reading_ = is_late_ = false;
  in_exchange_ = true;
  ++context_->exchanges;
}

template <typename Stream>
void HttpConnection<Stream>::refuse(int status, const std::string& why) {
  refuse(context_->handler.malformed(status, *request_, why));
}

template <typename Stream>
void HttpConnection<Stream>::refuse(HttpResponse refusal) {
  begin_exchange();
  keep_open_ = false;  // what follows on the connection cannot be told apart
  respond(std::move(refusal));
}

template <typename Stream>
void HttpConnection<Stream>::got_request(error_code error) {
  if (error) return refuse_unreadable(error);
  unguard();
  request_->body = std::move(parser_->get().body());
  begin_exchange();
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
  if (is_watching_) return;
  if (buffer_.size() > 0) return watch_behind_buffer();
  is_watching_ = true;
  stream_.async_read_some(buffer_.prepare(kReadAhead),
                          [self = this->shared_from_this()](error_code error, std::size_t bytes) {
                            self->client_spoke(error, bytes);
                          });
}

/// The same while the buffer keeps what a client sent ahead. Nothing more is read into it, so whatever comes
/// next may be a client's farewell. Requests in the buffer are still answered.
template <typename Stream>
void HttpConnection<Stream>::watch_behind_buffer() {
  if (std::exchange(is_peeking_, true)) return;
  socket().async_wait(Tcp::socket::wait_read, [self = this->shared_from_this()](error_code error) {
    self->is_peeking_ = false;
    if (error || self->closed_ || self->is_watching_ || !self->in_exchange_) return;
    self->look_for_reset();
  });
}

template <typename Stream>
void HttpConnection<Stream>::client_spoke(error_code error, std::size_t bytes) {
  is_watching_ = false;
  if (closed_ || (is_ending_ && !sent_all_)) return;
  if (error == asio::error::eof && !sent_all_) return in_exchange_ ? client_ended() : end_idle();
  if (error) return close();
  buffer_.commit(bytes);
  if (in_exchange_) return watch_client();
  if (keep_open_ && !is_ending_)
    read_request();
  else
    discard();
}

/// A client that has sent all it wants still waits for its answer, one that is gone looks the same until it
/// is sent something: its system then resets the connection.
template <typename Stream>
void HttpConnection<Stream>::client_ended() {
  keep_open_ = false;
  look_for_reset();
}

template <typename Stream>
void HttpConnection<Stream>::look_for_reset() {
  if (!std::exchange(awaits_reset_, true))
    socket().async_wait(Tcp::socket::wait_error, [self = this->shared_from_this()](error_code error) {
      if (!error) self->close();
    });
  probe_client();
}

/// An interim response, which means nothing and may come any number of times: RFC 9110, section 15.2. Who
/// speaks HTTP/1.0 knows none.
template <typename Stream>
void HttpConnection<Stream>::probe_client() {
  if (closed_ || head_sent_ || !chunked_) return;
  pending_ += kContinue;
  write_pending();
  probe_.expires_after(context_->options.ping_interval);
  probe_.async_wait([weak = this->weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (self && !error) self->probe_client();
  });
}

/// Ends a connection on which no response is due.
template <typename Stream>
void HttpConnection<Stream>::end_idle() {
  if constexpr (kTls)
    linger();
  else
    close();
}

/// Closing while a client still sends would reset the connection and lose the response on its way: says that
/// nothing more comes (in TLS by close_notify, too) and reads on for a moment.
template <typename Stream>
void HttpConnection<Stream>::linger() {
  if (closed_ || std::exchange(is_ending_, true)) return;
  guard(kLinger);
  if constexpr (kTls)
    stream_.async_shutdown([self = this->shared_from_this()](error_code) { self->end_sending(); });
  else
    end_sending();
}

template <typename Stream>
void HttpConnection<Stream>::end_sending() {
  if (closed_) return;
  sent_all_ = true;
  error_code ignored;
  socket().shutdown(Tcp::socket::shutdown_send, ignored);
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

}  // namespace lanner::server
