// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lanner::io {

/// Default bound of read_text_file(): far above any template or tokenizer, far below a weight file.
inline constexpr std::uint64_t kMaxTextBytes = 256ull << 20;

/// The whole file as it is (no newline or encoding conversion); an empty file gives an empty string. Throws
/// Error: kNotFound, kInvalidArgument for a folder, kUnsupported when larger than `max_bytes`, kIo.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxTextBytes);

}  // namespace lanner::io
