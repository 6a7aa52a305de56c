// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "io/json.h"

namespace lanner::cli {

/// The facts that `lanner info --json` prints, as lines for people.
std::string info_text(const io::Json& facts);

/// 14006784 → "14.01 M", 4300000000 → "4.30 B".
std::string readable_count(std::size_t count);

}  // namespace lanner::cli
