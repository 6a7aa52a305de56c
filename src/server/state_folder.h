// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "server/worker_threads.h"

namespace lanner::server {

/// Where saved states are, and a thread of its own that reads and writes them: threads with connections do
/// not wait for disks. The only folder that a request can name files in.
class StateFolder {
 public:
  /// Throws Error kNotFound, kIo when `folder` is no folder.
  explicit StateFolder(std::filesystem::path folder);

  /// 1 to 128 of A-Za-z0-9._- that do not begin with a dot.
  static bool is_name(std::string_view name);
  /// The file of a state; `name` must be one.
  std::filesystem::path file(std::string_view name) const;
  /// Runs `work`, which must not throw, after all given before; drops it after finish().
  void queue(std::function<void()> work) { thread_.queue(std::move(work)); }
  /// Does what was queued and ends the thread.
  void finish() { thread_.finish(); }

 private:
  const std::filesystem::path folder_;
  WorkerThreads thread_{1};
};

}  // namespace lanner::server
