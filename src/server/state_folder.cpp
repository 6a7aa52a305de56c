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

}  // namespace lanner::server
