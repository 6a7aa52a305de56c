// SPDX-License-Identifier: MIT
#include "server/access_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "io/message_text.h"
#include "server/json_body.h"

namespace lanner::server {
namespace {

std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     ms);
}

}  // namespace

void AccessLog::write(const HttpRequest& request, const ExchangeRecord& record) {
  if (format_ == LogFormat::kNone) return;
  std::string line;
  if (format_ == LogFormat::kJson) {
    line = write_json({{"time", time_text()},
                       {"peer", request.peer},
                       {"method", request.method},
                       {"path", request.path},
                       {"status", record.status},
                       {"bytes", record.bytes},
                       {"seconds", record.seconds},
                       {"dropped", record.dropped},
                       {"request_id", request.id}});
  } else {
    line =
        fmt::format("{} {} {} {} {} {} B {:.1f} ms {}{}", time_text(), request.peer,
                    io::printable(request.method), io::printable(request.path), record.status, record.bytes,
                    1000 * record.seconds, request.id, record.dropped ? " (reader too slow)" : "");
  }
  const std::lock_guard lock(mutex_);
  *out_ << line << '\n' << std::flush;
}

void AccessLog::say(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (format_ == LogFormat::kJson)
    *out_ << write_json({{"time", time_text()}, {"message", message}}) << '\n' << std::flush;
  else
    *out_ << message << '\n' << std::flush;
}

}  // namespace lanner::server
