// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lanner::io {

/// Text from a file made safe for a one-line message: control characters and bytes that are not UTF-8 become
/// "\xNN", and what exceeds 160 bytes is cut and marked "...".
std::string printable(std::string_view text);

/// printable() between double quotes.
std::string in_quotes(std::string_view text);

/// "912 bytes", "14.7 MB", "52.1 GB" (powers of ten, as file managers and download pages count).
std::string readable_size(std::uint64_t size_bytes);

/// True when `text` is a git-lfs pointer: the small text file that stands for a file never downloaded.
bool is_lfs_pointer(std::string_view text);

}  // namespace lanner::io
