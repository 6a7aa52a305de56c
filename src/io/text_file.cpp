// SPDX-License-Identifier: MIT
#include "io/text_file.h"

#include <fmt/format.h>

#include <cerrno>

#include "io/file_error.h"
#include "io/message_text.h"
#include "io/open_file.h"

namespace lanner::io {

std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const OpenFile file = open_for_reading(path);
  if (file.size_bytes > max_bytes) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has {}, expected at most {} of text", printable(path.native()),
                            readable_size(file.size_bytes), readable_size(max_bytes)));
  }
  std::string text(file.size_bytes, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::read(file.descriptor.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(path, "read", errno);
    if (count == 0) break;  // the file shrank while being read
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

}  // namespace lanner::io
