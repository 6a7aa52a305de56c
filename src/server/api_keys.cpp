// SPDX-License-Identifier: MIT
#include "server/api_keys.h"

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "io/message_text.h"
#include "io/text_file.h"

namespace lanner::server {
namespace {

/// Looks at every byte whatever the others are.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::string_view> presented_key(const HttpRequest& request) {
  constexpr std::string_view kBearer = "bearer ";
  if (const auto value = request.header("authorization"))
    if (value->size() > kBearer.size() && equal_ignoring_case(value->substr(0, kBearer.size()), kBearer))
      return trimmed(value->substr(kBearer.size()));
  return request.header("x-api-key");
}

/// Header fields carry visible characters: anything else comes from a wrong file or an unset variable.
void check_key(std::string_view key, const std::string& where) {
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (key.empty() || !std::ranges::all_of(key, is_visible))
    throw Error(ErrorKind::kInvalidArgument,
                where + ": an API key is empty or has other than visible ASCII characters");
}

bool is_one_of(const std::vector<std::string>& keys, std::string_view presented) {
  bool found = false;
  for (const std::string& key : keys) found = equal_in_constant_time(key, presented) || found;
  return found;
}

}  // namespace

ApiKeys::ApiKeys(std::vector<std::string> keys, std::optional<std::filesystem::path> file,
                 std::vector<std::string> admin_keys)
    : given_(std::move(keys)), file_(std::move(file)), admin_keys_(std::move(admin_keys)), keys_(given_) {
  for (const auto* keys : {&given_, &admin_keys_})
    for (const std::string& key : *keys) check_key(key, "--api-key, --admin-key");
  reload();
}

void ApiKeys::reload() {
  if (!file_) return;
  std::vector<std::string> keys = given_;
  std::istringstream lines(io::read_text_file(*file_));
  for (std::string line; std::getline(lines, line);) {
    const std::string_view key = trimmed(line);
    if (key.empty() || key.front() == '#') continue;
    check_key(key, io::printable(file_->native()));
    keys.emplace_back(key);
  }
  if (keys.empty())
    throw Error(ErrorKind::kInvalidArgument,
                io::printable(file_->native()) + ": holds no key, expected one a line");
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
}

bool ApiKeys::any() const {
  const std::lock_guard lock(mutex_);
  return !keys_.empty();
}

bool ApiKeys::allow(const HttpRequest& request) const {
  const auto presented = presented_key(request);
  const std::lock_guard lock(mutex_);
  if (keys_.empty()) return true;
  if (!presented) return false;
  const bool is_client = is_one_of(keys_, *presented);
  return is_one_of(admin_keys_, *presented) || is_client;
}

bool ApiKeys::is_admin(const HttpRequest& request) const {
  const auto presented = presented_key(request);
  return presented && is_one_of(admin_keys_, *presented);
}

}  // namespace lanner::server
