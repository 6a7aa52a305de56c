// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "server/http_connection.h"

/// How a connection sends responses.
namespace lanner::server {

template <typename Stream>
void HttpConnection<Stream>::begin_response(HttpResponse response, BodyLength length) {
  if (closed_ || head_sent_) return;
  head_sent_ = true;
  limit_.cancel();
  context_->handler.decorate(*request_, response);
  const auto is_timing = [](const auto& header) { return header.first == "Server-Timing"; };
  if (std::ranges::none_of(response.headers, is_timing)) {
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - began_;
    response.headers.emplace_back("Server-Timing", fmt::format("total;dur={:.3f}", taken.count()));
  }
  status_ = response.status;
  pending_ += response_head(response, length, keep_open_ ? Persistence::kKeepAlive : Persistence::kClose);
}

template <typename Stream>
void HttpConnection<Stream>::respond(HttpResponse response) {
  if (closed_ || head_sent_) return;
  begin_response(response, BodyLength::kKnown);
  body_bytes_ = response.body.size();
  if (request_->method != "HEAD") pending_ += response.body;
  complete_ = true;
  write_pending();
}

template <typename Stream>
void HttpConnection<Stream>::start_stream(HttpResponse head) {
  if (!chunked_) keep_open_ = false;  // HTTP/1.0 ends a body by closing
  begin_response(std::move(head), chunked_ ? BodyLength::kChunked : BodyLength::kUntilClose);
}

template <typename Stream>
void HttpConnection<Stream>::send(std::string data) {
  if (closed_ || complete_ || data.empty()) return;
  // What was left before counts: one event may be larger than the buffer.
  if (pending_.size() > context_->options.stream_buffer_bytes) {
    dropped_ = true;
    return close();
  }
  body_bytes_ += data.size();
  last_sent_ = std::chrono::steady_clock::now();
  if (chunked_)
    fmt::format_to(std::back_inserter(pending_), "{:x}\r\n{}\r\n", data.size(), data);
  else
    pending_ += data;
  write_at_once();
  write_pending();
}

/// What the socket takes now needs no completion, which would wake another thread and set a watch for each
/// token.
template <typename Stream>
void HttpConnection<Stream>::write_at_once() {
  if constexpr (!kTls) {
    if (is_writing_) return;
    error_code error;  // comes again in write_pending()
    pending_.erase(0, stream_.write_some(asio::buffer(pending_), error));
  }
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
  // Asked before each piece: the limit is for one without progress.
  const auto most = [self = this->shared_from_this()](error_code error, std::size_t) {
    if (!error) self->guard(self->context_->options.write_timeout);
    return error ? 0 : kWritePiece;
  };
  asio::async_write(stream_, asio::buffer(writing_), most,
                    [self = this->shared_from_this()](error_code error, std::size_t) { self->wrote(error); });
}

template <typename Stream>
void HttpConnection<Stream>::wrote(error_code error) {
  is_writing_ = false;
  unguard();
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
