// SPDX-License-Identifier: MIT
// Bytes of a client, on one connection to its end: requests are read and answered without a fault, the body
// of none exceeds the limit, and what the client gets are whole responses.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "server/http_connection.h"

namespace {

using namespace lanner::server;

/// Answers at once, or as a stream, and shows requests that should not have come through.
class FuzzHandler final : public HttpHandler {
 public:
  void handle(std::shared_ptr<Exchange> exchange) override {
    const HttpRequest& request = exchange->request();
    if (request.body.size() > kMostBody || request.method.empty()) std::abort();
    for (const auto& [name, value] : request.headers)
      if (name.find_first_of("\r\n") != std::string::npos || value.find_first_of("\r\n") != std::string::npos)
        std::abort();
    if (request.path.size() % 2 == 0) return exchange->respond({.body = request.id});
    exchange->start_stream({.content_type = "text/event-stream"});
    exchange->send("data: 1\n\n");
    exchange->send("data: 2\n\n");
    exchange->finish();
  }
  std::optional<HttpResponse> refuse_by_header(const HttpRequest& header) override {
    if (header.path.size() % 3 == 0) return HttpResponse{.status = 404};
    return std::nullopt;
  }
  HttpResponse malformed(int status, const HttpRequest&, const std::string& why) override {
    return {.status = status, .body = why};
  }
  void decorate(const HttpRequest& request, HttpResponse& response) override {
    response.headers.emplace_back("X-Request-Id", request.id);
  }
  void finished(const HttpRequest&, const ExchangeRecord&) override {}

  static constexpr std::size_t kMostBody = 256;
};

/// One connection after the other, all on the calling thread.
class FuzzServer {
 public:
  FuzzServer() : acceptor_(io_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    options_.max_body_bytes = FuzzHandler::kMostBody;
    options_.max_header_bytes = 1024;
  }

  void feed(const std::uint8_t* data, std::size_t size) {
    Tcp::socket client(io_);
    client.connect(acceptor_.local_endpoint());
    auto connection = std::make_shared<HttpConnection<Tcp::socket>>(acceptor_.accept(), context_);
    connection->run();
    error_code ignored;
    asio::write(client, asio::buffer(data, size), ignored);
    client.shutdown(Tcp::socket::shutdown_send, ignored);
    connection.reset();
    io_.restart();
    io_.run();
    if (context_->connections != 0 || context_->exchanges != 0) std::abort();
    std::string got(1 << 16, '\0');
    got.resize(client.read_some(asio::buffer(got), ignored));
    if (!got.empty() && !got.starts_with("HTTP/1.1 ")) std::abort();
  }

 private:
  HttpOptions options_;
  FuzzHandler handler_;
  std::shared_ptr<ConnectionContext> context_ = std::make_shared<ConnectionContext>(options_, handler_);
  asio::io_context io_;
  Tcp::acceptor acceptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kFitsSocketBuffers = 32768;  // the client does not read while it writes
  static FuzzServer server;
  if (size <= kFitsSocketBuffers) server.feed(data, size);
  return 0;
}
