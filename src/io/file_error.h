// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string_view>

#include "core/error.h"

namespace lanner::io {

/// The Error for a system call that failed with errno value `error_number` while doing `action` ("read",
/// "write", "rename", ...) on `path`: names the path, the cause in plain words and, where known, the remedy.
Error file_error(const std::filesystem::path& path, std::string_view action, int error_number);

}  // namespace lanner::io
