// SPDX-License-Identifier: MIT
#include "layers/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace lanner::layers {
namespace {

Position rope_position(const Group& group, std::size_t row, std::int32_t key_position) {
  if (group.positions.empty()) return {key_position, key_position, key_position};
  return group.positions[row];
}

void check(const Group& group) {
  const bool positions_fit = group.positions.empty() || group.positions.size() == group.ids.size();
  const bool wanted_fits =
      std::ranges::adjacent_find(group.wanted, std::ranges::greater_equal()) == group.wanted.end() &&
      (group.wanted.empty() ||
       (group.wanted.front() >= 0 && static_cast<std::size_t>(group.wanted.back()) < group.ids.size()));
  if (group.ids.empty() || !positions_fit || !wanted_fits)
    throw Error(ErrorKind::kInternal,
                fmt::format("a group of {} ids, {} positions and {} wanted rows does not fit together",
                            group.ids.size(), group.positions.size(), group.wanted.size()));
}

/// Adds the rows [begin, packing's end) as those of a group with these adapters.
void end_group(Packing& packing, std::size_t begin, const LoraSet* adapters) {
  const Packing::Range rows{begin, packing.rows()};
  packing.groups.push_back(rows);
  if (adapters == nullptr || rows.begin == rows.end) return;
  std::vector<Packing::Adapted>& adapted = packing.adapted;
  if (!adapted.empty() && adapted.back().adapters == adapters && adapted.back().rows.end == begin)
    adapted.back().rows.end = rows.end;
  else
    adapted.push_back({rows, adapters});
}

}  // namespace

Step::Step(const device::Ops& ops_table, device::Stream& its_stream, Arena& its_arena,
           std::span<const Group> groups)
    : ops(ops_table), stream(its_stream), arena(its_arena), groups_(groups) {
  for (const Group& group : groups_) {
    check(group);
    group.cache->reserve(group.ids.size());
    const std::size_t begin = all_.rows();
    const std::size_t wanted_begin = wanted_.rows();
    const std::size_t length = group.cache->length();
    for (std::size_t row = 0; row < group.ids.size(); ++row) {
      const auto key_position = static_cast<std::int32_t>(length + row);
      all_.key_positions.push_back(key_position);
      all_.rope_positions.push_back(rope_position(group, row, key_position));
    }
    for (std::int32_t row : group.wanted) {
      const std::size_t packed = begin + static_cast<std::size_t>(row);
      wanted_rows_.push_back(packed);
      wanted_.key_positions.push_back(all_.key_positions[packed]);
      wanted_.rope_positions.push_back(all_.rope_positions[packed]);
    }
    ids_.insert(ids_.end(), group.ids.begin(), group.ids.end());
    end_group(all_, begin, group.adapters);
    end_group(wanted_, wanted_begin, group.adapters);
  }
  if (!all_.adapted.empty() && ops.add_low_rank == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("a forward on {} was given adapters", ops.device));
}

Tensor Step::take_wanted(const Tensor& x) {
  if (wanted_rows_.size() == all_.rows()) return x;
  const Tensor taken = floats({static_cast<std::int64_t>(wanted_rows_.size()), x.shape.back()});
  ops.take_rows(stream, taken, x, wanted_rows_);
  return taken;
}

void Step::finish() {
  for (const Group& group : groups_) group.cache->advance(group.ids.size());
}

}  // namespace lanner::layers
