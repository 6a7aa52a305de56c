// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "core/error.h"

namespace lanner::engine {

/// A forward pass made something that is not a finite number.
class NotFinite : public Error {
 public:
  NotFinite() : Error(ErrorKind::kInternal, "the model produced a number that is not finite") {}
};

/// Throws NotFinite when one of the values a forward pass made is not finite.
void require_finite(std::span<const float> values);

}  // namespace lanner::engine
