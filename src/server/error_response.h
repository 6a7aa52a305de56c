// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "server/http_message.h"
#include "server/json_body.h"
#include "server/problem.h"

namespace lanner::server {

/// Which shape errors have.
enum class ErrorStyle : std::uint8_t { kOpenAi, kAnthropic };

/// The body of an error.
Json error_body(const Problem& problem, ErrorStyle style, std::string_view request_id);
/// The whole response, with Retry-After where trying again may help.
HttpResponse error_response(const Problem& problem, ErrorStyle style, std::string_view request_id);

}  // namespace lanner::server
