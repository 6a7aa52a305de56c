// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace lanner::server {

/// A file that is part of the program: the chat page's.
struct StaticFile {
  std::string_view path;  ///< as requested: "/", "/assets/index.js"
  std::string_view content_type;
  std::string_view content;
};

/// All of them.
std::span<const StaticFile> static_files();
/// nullptr when there is none.
const StaticFile* find_static_file(std::string_view path);

}  // namespace lanner::server
