// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace lanner::server {

/// The keys that clients may use; none = everybody may. Administrators' keys also allow what changes the
/// server for others. May be used from any thread.
class ApiKeys {
 public:
  /// `file`: one key a line, besides `keys`; empty lines and lines with # are skipped. Throws Error kIo, and
  /// kInvalidArgument for a file without any key.
  ApiKeys(std::vector<std::string> keys, std::optional<std::filesystem::path> file,
          std::vector<std::string> admin_keys = {});

  /// Reads the file again; keeps the old keys when that fails, and throws.
  void reload();
  bool any() const;
  /// Whether a request has one, as `Authorization: Bearer KEY` or `x-api-key: KEY`. Takes the same time for
  /// every wrong key of a length.
  bool allow(const HttpRequest& request) const;
  bool has_admins() const { return !admin_keys_.empty(); }
  /// Whether a request has an administrator's key.
  bool is_admin(const HttpRequest& request) const;

 private:
  const std::vector<std::string> given_;
  const std::optional<std::filesystem::path> file_;
  const std::vector<std::string> admin_keys_;
  mutable std::mutex mutex_;
  std::vector<std::string> keys_;
};

}  // namespace lanner::server
