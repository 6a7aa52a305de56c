// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanner::server {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A request as it came.
struct HttpRequest {
  std::string method;
  std::string path;   ///< without the query, as sent
  std::string query;  ///< behind "?"
  Headers headers;
  std::string body;
  std::string peer;  ///< address of the client
  std::string id;    ///< the caller's, or made for it

  /// The first header of that name, whatever its case.
  std::optional<std::string_view> header(std::string_view name) const;
};

/// A response, or the beginning of one when it is streamed.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::string body = {};
  Headers headers = {};
};

/// "Bad Request" for 400.
std::string_view reason_phrase(int status);

bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace lanner::server
