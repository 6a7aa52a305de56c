// SPDX-License-Identifier: MIT
#include "server/state_folder.h"

#include <algorithm>

#include "core/error.h"
#include "io/message_text.h"

namespace lanner::server {

StateFolder::StateFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder_, error))
    throw Error(ErrorKind::kNotFound,
                io::printable(folder_.native()) + ": the folder for states does not exist; make it first");
  thread_ = std::thread([this] { run(); });
}

void StateFolder::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool StateFolder::is_name(std::string_view name) {
  constexpr std::size_t kLongest = 128;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         std::ranges::all_of(name, is_allowed);
}

std::filesystem::path StateFolder::file(std::string_view name) const {
  if (!is_name(name)) throw Error(ErrorKind::kInternal, "a state's name was not checked");
  return folder_ / (std::string(name) + ".state");
}

void StateFolder::queue(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    works_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void StateFolder::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !works_.empty(); });
      if (works_.empty()) return;
      work = std::move(works_.front());
      works_.pop_front();
    }
    work();
  }
}

}  // namespace lanner::server
