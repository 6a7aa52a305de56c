// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>

#include "server/exchange.h"

namespace lanner::server {

enum class LogFormat : std::uint8_t { kNone, kText, kJson };

/// One line per response. May be used from any thread.
class AccessLog {
 public:
  AccessLog(std::ostream& out, LogFormat format) : out_(&out), format_(format) {}

  void write(const HttpRequest& request, const ExchangeRecord& record);
  /// A line that is no response.
  void say(const std::string& message);

 private:
  std::ostream* out_;
  LogFormat format_;
  std::mutex mutex_;
};

}  // namespace lanner::server
