// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "server/http_message.h"

namespace lanner::server {

/// How a client finds the end of a body.
enum class BodyLength : std::uint8_t { kKnown, kChunked, kUntilClose };
/// What happens to a connection after a response.
enum class Persistence : std::uint8_t { kKeepAlive, kClose };

/// Status line and header fields. Characters that could end a field are left out of values.
std::string response_head(const HttpResponse& response, BodyLength length, Persistence persistence);

}  // namespace lanner::server
