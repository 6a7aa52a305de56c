// SPDX-License-Identifier: MIT
#include "core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace lanner {

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > kMaxRank)
    throw Error(ErrorKind::kInternal, fmt::format("shape has {} axes, at most {} are supported",
                                                  extents.size(), static_cast<int>(kMaxRank)));
  std::copy(extents.begin(), extents.end(), extents_.begin());
  rank_ = static_cast<int>(extents.size());
}

std::int64_t Shape::element_count() const {
  std::int64_t count = 1;
  for (std::int64_t extent : extents()) count *= extent;
  return count;
}

bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a.extents(), b.extents()); }

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape.extents(), ", ")); }

}  // namespace lanner
