// SPDX-License-Identifier: MIT
#include "server/response_head.h"

#include <fmt/format.h>

#include <algorithm>

namespace lanner::server {
namespace {

std::string one_line(std::string value) {
  std::erase_if(value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return value;
}

}  // namespace

std::string response_head(const HttpResponse& response, BodyLength length, Persistence persistence) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  if (response.status != 204 && response.status != 304) {
    head += "Content-Type: " + response.content_type + "\r\n";
    if (length == BodyLength::kKnown) head += fmt::format("Content-Length: {}\r\n", response.body.size());
    if (length == BodyLength::kChunked) head += "Transfer-Encoding: chunked\r\n";
  }
  head += persistence == Persistence::kKeepAlive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  for (const auto& [name, value] : response.headers) head += name + ": " + one_line(value) + "\r\n";
  return head + "\r\n";
}

}  // namespace lanner::server
