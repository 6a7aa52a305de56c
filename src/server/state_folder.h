// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace lanner::server {

/// Where saved states are, and a thread of its own that reads and writes them: threads with connections do
/// not wait for disks. The only folder that a request can name files in.
class StateFolder {
 public:
  /// Throws Error kNotFound, kIo when `folder` is no folder.
  explicit StateFolder(std::filesystem::path folder);
  ~StateFolder() { finish(); }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  /// 1 to 128 of A-Za-z0-9._- that do not begin with a dot.
  static bool is_name(std::string_view name);
  /// The file of a state; `name` must be one.
  std::filesystem::path file(std::string_view name) const;
  /// Runs `work`, which must not throw, after all given before; drops it after finish().
  void queue(std::function<void()> work);
  /// Does what was queued and ends the thread.
  void finish();

 private:
  void run();

  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> works_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lanner::server
