// SPDX-License-Identifier: MIT
// Usage: stream_client PORT PATH < BODY > RESPONSE
// Posts a JSON body to this machine and reads the response, head and chunks as they come, till the server
// closes. It does as little as a client can for a piece, one system call, because it may need the core that
// the model computes on. Writes to standard error, in ms after the request was sent: the first byte and the
// last.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

std::string read_all(std::FILE* file) {
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), file)) text.append(part.data(), got);
  return text;
}

int connected_socket(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (socket < 0 || ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
    return -1;
  return socket;
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  const std::string_view given = argc == 3 ? argv[1] : "";
  if (std::from_chars(given.data(), given.data() + given.size(), port).ec != std::errc()) {
    fmt::print(stderr, "usage: stream_client PORT PATH < BODY > RESPONSE\n");
    return 2;
  }
  const std::string body = read_all(stdin);
  const std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: "
      "close\r\nContent-Length: "
      "{}\r\n\r\n{}",
      argv[2], body.size(), body);
  const int socket = connected_socket(port);
  if (socket < 0) return fail("stream_client: cannot connect");
  const auto start = Clock::now();
  if (!send_all(socket, request)) return fail("stream_client: cannot send");
  std::string response;
  std::array<char, 65536> piece{};
  double first = -1;
  double last = -1;
  for (;;) {
    const ssize_t got = ::recv(socket, piece.data(), piece.size(), 0);
    if (got < 0) return fail("stream_client: cannot receive");
    if (got == 0) break;
    last = since(start);
    if (first < 0) first = last;
    response.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(socket);
  std::fwrite(response.data(), 1, response.size(), stdout);
  fmt::print(stderr, "{{\"first_ms\": {:.4f}, \"last_ms\": {:.4f}}}\n", first, last);
}
