// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace lanner::server {

/// A file that is part of the program: the chat page's.
struct StaticFile {
  std::string_view path;  ///< as requested: "/", "/page.js"
  std::string_view content_type;
  std::string_view content;
  std::string etag;  ///< strong, with its quotes: a hash of `content`
};

/// All of them.
std::span<const StaticFile> static_files();
/// nullptr when there is none.
const StaticFile* find_static_file(std::string_view path);
/// The file; 304 without a body when If-None-Match of `request` names what it holds. Browsers may keep the
/// file but must ask again each time: names stay the same when the program is updated. RFC 9110, 13.1.2.
HttpResponse static_file_response(const StaticFile& file, const HttpRequest& request);

}  // namespace lanner::server
