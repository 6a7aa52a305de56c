// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanner::test {

using Json = nlohmann::ordered_json;

/// A response as it came over the socket, chunks joined.
struct HttpReply {
  int status = 0;  ///< 0: the connection ended before a whole response
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool complete = false;  ///< the body ended as announced

  std::optional<std::string> header(std::string_view name) const;
  Json json() const { return Json::parse(body, nullptr, false); }
};

/// One blocking connection to 127.0.0.1. It speaks no HTTP by itself: tests send what they like.
class Socket {
 public:
  explicit Socket(std::uint16_t port);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// False when the other end is gone.
  bool send(std::string_view bytes);
  /// Some bytes; empty at the end of the stream or after `patience`.
  std::string receive(std::chrono::milliseconds patience = std::chrono::seconds(60));
  /// Reads one response; interim ones (100) are passed over.
  HttpReply reply();
  /// Reads until `text` came; false at the end.
  bool wait_for(std::string_view text);
  void shutdown_sending();
  void close();
  void set_receive_buffer(int bytes);

 private:
  int descriptor_ = -1;
  std::string buffer_;
};

/// "POST path HTTP/1.1 ..." with a JSON body; `headers` are lines that end with \r\n.
std::string post_text(std::string_view path, std::string_view body, std::string_view headers = {});

HttpReply http_get(std::uint16_t port, std::string_view path, std::string_view headers = {});
HttpReply http_post(std::uint16_t port, std::string_view path, const Json& body,
                    std::string_view headers = {});

/// The data of server-sent events, in order, comments left out; "[DONE]" as it is.
std::vector<std::string> event_data(std::string_view body);

}  // namespace lanner::test
