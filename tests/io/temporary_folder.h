// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/error.h"

namespace lanner::io {

/// A fresh folder under the system's temporary folder, removed with its content at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "lanner-io-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file at a relative path, making its folders.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    const std::filesystem::path target = path_ / name;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream out(target, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    REQUIRE(out.good());
    return target;
  }

 private:
  std::filesystem::path path_;
};

/// The message of the Error that `action` throws; fails the test when it throws none or one of another kind.
template <typename Action>
std::string error_of(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return error.what();
  }
  FAIL_CHECK("no Error was thrown");
  return {};
}

}  // namespace lanner::io
