// SPDX-License-Identifier: MIT
#include "models/unused_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/tensor_entry.h"

namespace lanner::models {

std::vector<std::string> name_unused_parts(std::span<const std::string> leftovers,
                                           std::span<const KnownPart> known,
                                           const io::Checkpoint& checkpoint) {
  std::vector<bool> seen(known.size());
  for (const std::string& name : leftovers) {
    const auto part = std::ranges::find_if(
        known, [&](const KnownPart& candidate) { return name.find(candidate.infix) != std::string::npos; });
    if (part == known.end())
      throw io::tensor_error(
          checkpoint.require(name),
          "is not a weight of this model_type; the folder may mix files of two models, or be a "
          "variant lanner does not know");
    seen[static_cast<std::size_t>(part - known.begin())] = true;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (seen[i] && !known[i].part.empty() && std::ranges::find(parts, known[i].part) == parts.end())
      parts.emplace_back(known[i].part);
  return parts;
}

}  // namespace lanner::models
