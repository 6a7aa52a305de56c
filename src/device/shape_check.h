// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "core/tensor.h"

namespace lanner::device {

/// Throws Error kInternal unless `holds`; every operation checks its shapes with this in every build.
inline void check_shape(bool holds, std::string_view operation, const Tensor& found) {
  if (!holds)
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: operand shapes do not fit, one is {}", operation, to_string(found.shape)));
}

}  // namespace lanner::device
