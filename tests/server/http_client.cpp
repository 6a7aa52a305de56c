// SPDX-License-Identifier: MIT
#include "server/http_client.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace lanner::test {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::optional<std::string> HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (lower(key) == lower(name)) return value;
  return std::nullopt;
}

Socket::Socket(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

Socket::~Socket() { close(); }

void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Socket::shutdown_sending() { ::shutdown(descriptor_, SHUT_WR); }

void Socket::set_receive_buffer(int bytes) {
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool Socket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string Socket::receive(std::chrono::milliseconds patience) {
  if (!buffer_.empty()) return std::exchange(buffer_, {});
  pollfd wait{descriptor_, POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(patience.count())) <= 0) return {};
  char bytes[16384];
  const ssize_t got = ::recv(descriptor_, bytes, sizeof bytes, 0);
  return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : std::string();
}

bool Socket::wait_for(std::string_view text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    const std::string more = receive();
    if (more.empty()) return false;
    all += more;
  }
  buffer_ = all;
  return true;
}

HttpReply Socket::reply() {
  HttpReply reply;
  std::string data;
  const auto more = [&] {
    const std::string bytes = receive();
    data += bytes;
    return !bytes.empty();
  };
  std::size_t head = 0;
  constexpr std::string_view kInterim = "HTTP/1.1 100 ";
  while ((head = data.find("\r\n\r\n")) == std::string::npos || data.starts_with(kInterim)) {
    if (head != std::string::npos)
      data.erase(0, head + 4);
    else if (!more())
      return reply;
  }
  std::size_t line = data.find("\r\n");
  reply.status = std::stoi(data.substr(9, 3));
  while (line < head) {
    const std::size_t next = data.find("\r\n", line + 2);
    const std::string field = data.substr(line + 2, next - line - 2);
    const std::size_t colon = field.find(": ");
    if (colon != std::string::npos)
      reply.headers.emplace_back(field.substr(0, colon), field.substr(colon + 2));
    line = next;
  }
  data.erase(0, head + 4);
  if (const auto length = reply.header("content-length")) {
    const auto size = static_cast<std::size_t>(std::stoul(*length));
    while (data.size() < size && more()) {
    }
    reply.complete = data.size() >= size;
    reply.body = data.substr(0, size);
    buffer_ = data.substr(std::min(size, data.size()));
  } else if (reply.header("transfer-encoding")) {
    for (;;) {
      std::size_t end = 0;
      while ((end = data.find("\r\n")) == std::string::npos)
        if (!more()) return reply;
      const auto size = static_cast<std::size_t>(std::stoul(data.substr(0, end), nullptr, 16));
      while (data.size() < end + 2 + size + 2)
        if (!more()) return reply;
      reply.body += data.substr(end + 2, size);
      data.erase(0, end + 2 + size + 2);
      if (size == 0) break;
    }
    reply.complete = true;
    buffer_ = data;
  } else {
    reply.complete = reply.status == 204 || reply.status == 304;
  }
  return reply;
}

std::string post_text(std::string_view path, std::string_view body, std::string_view headers) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         std::string(headers) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

HttpReply http_get(std::uint16_t port, std::string_view path, std::string_view headers) {
  Socket socket(port);
  socket.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
              "\r\n");
  return socket.reply();
}

HttpReply http_post(std::uint16_t port, std::string_view path, const Json& body, std::string_view headers) {
  Socket socket(port);
  socket.send(post_text(path, body.dump(), headers));
  return socket.reply();
}

std::vector<std::string> event_data(std::string_view body) {
  std::vector<std::string> all;
  constexpr std::string_view kData = "data: ";
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    if (line.starts_with(kData)) all.emplace_back(line.substr(kData.size()));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
  }
  return all;
}

}  // namespace lanner::test
