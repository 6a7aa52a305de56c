// SPDX-License-Identifier: MIT
#include "io/corrupt.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lanner::io {

void throw_corrupt(std::string_view source, const std::string& problem) {
  throw Error(ErrorKind::kCorrupt, fmt::format("{}: {}", source, problem));
}

}  // namespace lanner::io
