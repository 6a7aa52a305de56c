// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lanner::server {

/// Base64 with padding (RFC 4648, section 4).
std::string base64(std::span<const std::byte> bytes);

}  // namespace lanner::server
