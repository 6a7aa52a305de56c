// SPDX-License-Identifier: MIT
#include "server/http_server.h"

#include <csignal>
#include <thread>
#include <vector>

#include "core/error.h"
#include "server/http_connection.h"

namespace lanner::server {

struct HttpServer::Parts {
  Parts(const HttpOptions& given, std::shared_ptr<HttpHandler> served)
      : options(given),
        handler(std::move(served)),
        context(std::make_shared<ConnectionContext>(options, *handler)),
        acceptor(io),
        retry(io),
        signals(io) {}

  void listen();
  void load_certificate();
  void accept();
  void welcome(Tcp::socket socket);
  void wait_for_signal();

  const HttpOptions options;
  const std::shared_ptr<HttpHandler> handler;
  asio::io_context io;
  std::shared_ptr<ConnectionContext> context;
  Tcp::acceptor acceptor;
  asio::steady_timer retry;
  asio::signal_set signals;
  std::function<void(int)> signalled;
  std::optional<asio::ssl::context> tls;
  std::vector<std::thread> threads;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
};

void HttpServer::Parts::listen() {
  const std::string place = fmt::format("{}:{}", options.host, options.port);
  error_code error;
  Tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), Tcp::resolver::passive, error);
  if (error || found.empty())
    throw Error(ErrorKind::kIo,
                fmt::format("{}: {}; give a host name or address of this machine", place, error.message()));
  const Tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    throw Error(ErrorKind::kIo,
                fmt::format("{}: cannot listen: {}; choose another --port", place, error.message()));
}

void HttpServer::Parts::load_certificate() {
  if (options.tls_certificate.empty()) return;
  tls.emplace(asio::ssl::context::tls_server);
  error_code error;
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                   asio::ssl::context::no_tlsv1_1 | asio::ssl::context::single_dh_use);
  tls->use_certificate_chain_file(options.tls_certificate, error);
  if (error)
    throw Error(ErrorKind::kIo,
                options.tls_certificate + ": no certificate chain in PEM: " + error.message());
  tls->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
  if (error)
    throw Error(ErrorKind::kIo,
                options.tls_key + ": no private key in PEM for the certificate: " + error.message());
}

void HttpServer::Parts::accept() {
  acceptor.async_accept(asio::make_strand(io), [this](error_code error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      welcome(std::move(socket));
      return accept();
    }
    // Out of file descriptors, most likely: connections that end free some.
    retry.expires_after(std::chrono::milliseconds(50));
    retry.async_wait([this](error_code cancelled) {
      if (!cancelled) accept();
    });
  });
}

void HttpServer::Parts::welcome(Tcp::socket socket) {
  if (context->connections >= options.max_connections) return;
  const auto executor = socket.get_executor();
  if (tls) {
    auto connection = std::make_shared<HttpConnection<asio::ssl::stream<Tcp::socket>>>(
        asio::ssl::stream<Tcp::socket>(std::move(socket), *tls), context);
    asio::dispatch(executor, [connection] { connection->run(); });
  } else {
    auto connection = std::make_shared<HttpConnection<Tcp::socket>>(std::move(socket), context);
    asio::dispatch(executor, [connection] { connection->run(); });
  }
}

void HttpServer::Parts::wait_for_signal() {
  signals.async_wait([this](error_code error, int signal) {
    if (error) return;
    signalled(signal);
    wait_for_signal();
  });
}

HttpServer::HttpServer(const HttpOptions& options, std::shared_ptr<HttpHandler> handler)
    : parts_(std::make_unique<Parts>(options, std::move(handler))) {
  parts_->load_certificate();
  parts_->listen();
}

HttpServer::~HttpServer() { stop(); }

std::uint16_t HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

void HttpServer::start() {
  parts_->work.emplace(parts_->io.get_executor());
  parts_->accept();
  for (int i = 0; i < parts_->options.threads; ++i)
    parts_->threads.emplace_back([this] { parts_->io.run(); });
}

void HttpServer::on_signal(std::function<void(int)> callback) {
  parts_->signalled = std::move(callback);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) parts_->signals.add(signal);
  parts_->wait_for_signal();
}

void HttpServer::run_after(std::chrono::milliseconds delay, std::function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(parts_->io, delay);
  timer->async_wait([timer, work = std::move(work)](error_code error) {
    if (!error) work();
  });
}

std::size_t HttpServer::active_exchanges() const { return parts_->context->exchanges; }
std::size_t HttpServer::open_connections() const { return parts_->context->connections; }

void HttpServer::stop() {
  parts_->work.reset();
  parts_->io.stop();
  for (std::thread& thread : parts_->threads) thread.join();
  parts_->threads.clear();
}

}  // namespace lanner::server
