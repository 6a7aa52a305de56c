// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace lanner {

/// Index into a model's vocabulary. Valid ids are >= 0.
using TokenId = std::int32_t;

}  // namespace lanner
