// SPDX-License-Identifier: MIT
#include "server/process_gauges.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace lanner::server {
namespace {

void add_memory(std::string& out) {
  std::ifstream statm("/proc/self/statm");
  long size = 0, resident = 0;
  if (!(statm >> size >> resident)) return;
  const long page = sysconf(_SC_PAGESIZE);
  out += fmt::format("# TYPE process_virtual_memory_bytes gauge\nprocess_virtual_memory_bytes {}\n",
                     size * page);
  out += fmt::format("# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}\n",
                     resident * page);
}

void add_descriptors(std::string& out) {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error))
    ++count;
  if (!error) out += fmt::format("# TYPE process_open_fds gauge\nprocess_open_fds {}\n", count);
}

}  // namespace

std::string process_gauges() {
  static const std::time_t started = std::time(nullptr);
  std::string out =
      fmt::format("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {}\n", started);
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
    };
    out += fmt::format("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {}\n",
                       seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  add_memory(out);
  add_descriptors(out);
  return out;
}

}  // namespace lanner::server
